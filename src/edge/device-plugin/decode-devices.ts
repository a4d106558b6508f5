// Decodes a list of devices in parts, since a plugin may send thousands.
// Invariants: the event loop is not blocked for longer than a few milliseconds; the number of devices and the size of each are
// bounded, and a list beyond the bounds is an error before anything of it is used.
import { WireType } from '@bufbuild/protobuf/wire';
import { Device } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import type { PluginDevice } from '../../api/ports/device-plugins.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Slices } from '../../base/slices.ts';
import { WireReader } from '../grpc-client/wire-reader.ts';

/** differs from upstream, where only the 4 MiB of a message limit them. */
const mostDevices = 50_000;
const deviceBytes = 4 * 1024;
const devicesPerCheck = 64;

/** Of ListAndWatchResponse. */
const devicesField = 1;

const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** By ID in the order of the message; the last of several devices with one ID counts, as upstream. */
export async function decodeDevices(
  bytes: Buffer,
  clock: Pick<Clock, 'monotonic'>,
): Promise<readonly PluginDevice[]> {
  const slices = new Slices({ clock, pause });
  const devices = new Map<string, PluginDevice>();
  let count = 0;
  for (const part of deviceParts(bytes)) {
    count += 1;
    if (count > mostDevices) throw tooLarge(`more than ${mostDevices} devices`);
    if (part.length > deviceBytes) throw tooLarge(`a device of more than ${deviceBytes} bytes`);
    const device = pluginDevice(Device.decode(new WireReader(part)));
    devices.set(device.id, device);
    if (count % devicesPerCheck === 0) await slices.yieldIfDue();
  }
  return [...devices.values()];
}

function* deviceParts(bytes: Buffer): Generator<Buffer> {
  const reader = new WireReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== devicesField || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    const length = reader.uint32();
    const start = reader.pos;
    if (start + length > reader.len) throw new RangeError('premature end of message');
    reader.pos = start + length;
    yield bytes.subarray(start, start + length);
  }
}

function pluginDevice({ health, ID, topology }: Device): PluginDevice {
  const nodes = topology?.nodes ?? [];
  return {
    id: ID,
    healthy: health === 'Healthy',
    numaNodes: nodes.length === 0 ? undefined : nodes.map((node) => Number(node.ID)),
  };
}

function tooLarge(what: string): KubeletError {
  return new KubeletError('invalid', 'DevicePluginError', `the plugin sent ${what}`);
}
