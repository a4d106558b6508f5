// Against a gRPC server of another library on a real unix socket.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { NodePublishVolumeRequest, type VolumeCapability } from '../../api/csi/generated/csi/v1/csi.ts';
import { realClock } from '../../base/clock.ts';
import { Aborted } from '../../base/errors.ts';
import { InFlightCalls } from '../../base/in-flight-calls.ts';
import { DriverRig, failureOf, never, stageRequest, unpublish } from './fixtures/driver-rig.ts';
import { hang } from './fixtures/node-server.ts';

let dir: string;
let leaks: LeakCheck;
let rig: DriverRig;
beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'csi-'));
  rig = new DriverRig(join(dir, 'csi.sock'));
});
afterEach(async () => {
  await rig.end();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

const capability: VolumeCapability = {
  mount: { fsType: 'ext4', mountFlags: ['noatime', 'discard'], volumeMountGroup: '2000' },
  accessMode: { mode: 7 },
};

describe('calls', () => {
  test('pass every field in both directions', async () => {
    const seen: Record<string, unknown> = {};
    const note =
      <T>(name: string, response: T) =>
      async (request: unknown): Promise<T> => {
        seen[name] = request;
        return response;
      };
    const usage = [
      { available: 1n, total: 2n ** 62n, used: 3n, unit: 1 as const },
      { available: 4n, total: 5n, used: 6n, unit: 2 as const },
    ];
    const info = {
      nodeId: 'i-123',
      maxVolumesPerNode: 39n,
      accessibleTopology: { segments: { 'topology.example.com/zone': 'a', constructor: 'b' } },
    };
    await rig.serve({
      nodeStageVolume: note('stage', {}),
      nodeUnstageVolume: note('unstage', {}),
      nodePublishVolume: note('publish', {}),
      nodeUnpublishVolume: note('unpublish', {}),
      nodeExpandVolume: note('expand', { capacityBytes: 2n ** 40n }),
      nodeGetVolumeStats: note('stats', { usage }),
      nodeGetInfo: note('info', info),
      nodeGetCapabilities: async () => ({ capabilities: [{ rpc: { type: 1 } }] }),
    });
    const client = rig.client();
    const publish = NodePublishVolumeRequest.fromPartial({
      ...stageRequest,
      volumeCapability: { block: {}, accessMode: { mode: 1 } },
      targetPath: '/target',
      readonly: true,
    });
    const expand = {
      volumeId: 'v',
      volumePath: '/p',
      capacityRange: { requiredBytes: 2n ** 40n, limitBytes: 2n ** 41n },
      stagingTargetPath: '/s',
      volumeCapability: capability,
      secrets: { a: 'bbbb' },
    };
    const stats = { volumeId: 'v', volumePath: '/p', stagingTargetPath: '/s' };
    await client.stage(stageRequest, never);
    await client.publish(publish, never);
    await client.unpublish(unpublish, never);
    await client.unstage({ volumeId: 'v', stagingTargetPath: '/s' }, never);
    expect(await client.expand(expand, never)).toBe(2n ** 40n);
    expect(await client.stats(stats, never)).toEqual({ usage });
    expect(await client.info(never)).toEqual(info);
    expect(seen).toMatchObject({
      stage: stageRequest,
      publish,
      unpublish,
      unstage: { volumeId: 'v', stagingTargetPath: '/s' },
      expand,
      stats,
      info: {},
    });
  });

  test('report no capacity as zero', async () => {
    await rig.serve({ nodeExpandVolume: async () => ({ capacityBytes: -5n }) });
    expect(
      await rig.client().expand({ ...stageRequest, volumePath: '', capacityRange: undefined }, never),
    ).toBe(0n);
  });

  test('name the driver, the method, the code and whether the volume is migrated in their metric', async () => {
    await rig.serve({
      nodeUnpublishVolume: async () => ({}),
      nodeGetCapabilities: async () => ({ capabilities: [] }),
      nodeStageVolume: () => Promise.reject({ code: status.NOT_FOUND, details: '' }),
      nodeGetInfo: hang,
    });
    const client = rig.client();
    await client.unpublish(unpublish, never, { migrated: true });
    await client.capabilities(never, { migrated: true });
    await client.capabilities(never);
    await failureOf(client.stage(stageRequest, never));
    const stop = new AbortController();
    const info = failureOf(client.info(stop.signal));
    stop.abort(new Aborted('enough'));
    await info;
    await failureOf(
      client.expand(
        { ...stageRequest, volumePath: '', capacityRange: { requiredBytes: 2n ** 64n, limitBytes: 0n } },
        never,
      ),
    );
    expect(
      rig.observed.map(({ driver, method, code, migrated }) => [driver, method, code, migrated]),
    ).toEqual([
      ['d.example.com', '/csi.v1.Node/NodeUnpublishVolume', 'OK', true],
      ['d.example.com', '/csi.v1.Node/NodeGetCapabilities', 'OK', true],
      ['d.example.com', '/csi.v1.Node/NodeStageVolume', 'NotFound', false],
      ['d.example.com', '/csi.v1.Node/NodeGetInfo', 'Canceled', false],
      ['d.example.com', '/csi.v1.Node/NodeExpandVolume', 'unknown-non-grpc', false],
    ]);
    for (const { seconds } of rig.observed) expect(seconds).toBeGreaterThanOrEqual(0);
  });
});

describe('capabilities', () => {
  test('are those of the driver, unknown ones ignored', async () => {
    await rig.serve({
      nodeGetCapabilities: async () => ({
        capabilities: [1, 3, 4, 6, 8, 99]
          .map((type) => ({ rpc: { type: type as 1 } }))
          .concat([{ rpc: undefined as never }]),
      }),
    });
    expect(await rig.client().capabilities(never)).toEqual({
      stage: true,
      stats: false,
      expand: true,
      singleNodeMultiWriter: false,
      volumeMountGroup: true,
      volumeHealth: false,
      storageHealth: true,
    });
  });

  test('are fetched once per connection, also for concurrent callers', async () => {
    let fetched = 0;
    const server = await rig.serve({
      nodeGetCapabilities: async () => {
        fetched += 1;
        return { capabilities: [{ rpc: { type: fetched === 1 ? 1 : 2 } }] };
      },
    });
    const client = rig.client();
    const all = await Promise.all(Array.from({ length: 20 }, () => client.capabilities(never)));
    expect(new Set(all.map(({ stage }) => stage))).toEqual(new Set([true]));
    await client.capabilities(never);
    expect([fetched, server.connections()]).toEqual([1, 1]);
    server.cut();
    await expect.poll(async () => (await client.capabilities(never)).stats).toBe(true);
    expect([fetched, server.connections()]).toEqual([2, 2]);
  });

  test('that could not be fetched are fetched again', async () => {
    let fetched = 0;
    await rig.serve({
      nodeGetCapabilities: async () => {
        fetched += 1;
        if (fetched === 1) throw { code: status.UNAVAILABLE, details: 'starting' };
        return { capabilities: [] };
      },
    });
    const client = rig.client();
    const texts = await Promise.all([
      failureOf(client.capabilities(never)),
      failureOf(client.capabilities(never)),
    ]);
    for (const text of texts)
      expect(text).toMatchObject({
        message: 'rpc error: code = Unavailable desc = starting',
        outcome: 'uncertain',
      });
    expect(fetched).toBe(1);
    expect((await client.capabilities(never)).stage).toBe(false);
  });

  test('are fetched for the other callers when one gives up', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let fetched = 0;
    await rig.serve({
      nodeGetCapabilities: async () => {
        fetched += 1;
        await answered;
        return { capabilities: [] };
      },
    });
    const client = rig.client();
    const stop = new AbortController();
    const first = failureOf(client.capabilities(stop.signal));
    const second = client.capabilities(never);
    await expect.poll(() => fetched).toBe(1);
    const reason = new Aborted('enough');
    stop.abort(reason);
    expect(await first).toBe(reason);
    answer();
    expect((await second).stage).toBe(false);
    expect(fetched).toBe(1);
  });
});

test('a call is listed while it is in flight, with its driver and its deadline', async () => {
  await rig.serve({ nodeGetInfo: hang });
  const calls = new InFlightCalls(realClock);
  const stop = new AbortController();
  const failed = failureOf(rig.client({ calls, timeoutMs: 5_000 }).info(stop.signal));
  const [call] = calls.list();
  expect(call).toMatchObject({ to: 'csi', method: 'NodeGetInfo d.example.com' });
  expect((call?.deadlineMs ?? 0) - (call?.sinceMs ?? 0)).toBe(5_000);
  stop.abort(new Aborted('enough'));
  await failed;
  expect(calls.list()).toEqual([]);
});
