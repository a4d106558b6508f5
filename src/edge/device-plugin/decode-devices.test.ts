import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ListAndWatchResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import type { PluginDevice } from '../../api/ports/device-plugins.ts';
import { realClock } from '../../base/clock.ts';
import { decodeDevices } from './decode-devices.ts';

const device = fc.record({
  ID: fc.string({ maxLength: 20 }),
  health: fc.constantFrom('Healthy', 'Unhealthy', ''),
  topology: fc.option(
    fc.record({ nodes: fc.array(fc.record({ ID: fc.bigInt({ min: -1n, max: 63n }) }), { maxLength: 3 }) }),
    { nil: undefined },
  ),
});

test('decodes the same devices as the generated code, the last of each ID', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(device, { maxLength: 30 }), async (devices) => {
      const bytes = Buffer.from(ListAndWatchResponse.encode({ devices }).finish());
      const want = new Map<string, PluginDevice>();
      for (const { ID, health, topology } of ListAndWatchResponse.decode(bytes).devices) {
        const nodes = topology?.nodes.map((node) => Number(node.ID)) ?? [];
        const numaNodes = nodes.length === 0 ? undefined : nodes;
        want.set(ID, { id: ID, healthy: health === 'Healthy', numaNodes });
      }
      expect(await decodeDevices(bytes, realClock)).toEqual([...want.values()]);
    }),
  );
});

test('skips unknown fields', async () => {
  // Field 2 as a number, field 3 as a text, then a device.
  const bytes = Buffer.from([0x10, 0x05, 0x1a, 0x01, 0x78, 0x0a, 0x03, 0x0a, 0x01, 0x61]);
  expect(await decodeDevices(bytes, realClock)).toEqual([{ id: 'a', healthy: false, numaNodes: undefined }]);
});

test('random bytes are an error or a list, in bounded time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      await decodeDevices(Buffer.from(bytes), realClock).then(
        (devices) => expect(Array.isArray(devices)).toBe(true),
        (err: unknown) => expect(err).toBeInstanceOf(Error),
      );
    }),
  );
});
