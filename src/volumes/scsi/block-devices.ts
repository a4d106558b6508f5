// The block devices of a disk in sysfs: the multipath device above its paths, and the removal of devices.
// Upstream: pkg/volume/util/device_util_linux.go. Invariant: of the devices above a disk, only a multipath device is taken for it.
import type { HostDevices, HostPrograms } from '../../api/ports/host-programs.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';

export interface BlockDeviceDeps {
  readonly programs: HostPrograms;
  readonly devices: HostDevices;
  readonly log: Logger;
}

const commandTimeoutMs = 60_000;

/** `/dev/sdb` → `sdb`; undefined for other paths. */
export function deviceName(path: string): string | undefined {
  const name = path.startsWith('/dev/') ? path.slice('/dev/'.length) : '';
  return name === '' || name.includes('/') || name.startsWith('.') ? undefined : name;
}

/** The multipath device of a disk or of a link to it, as /dev/dm-1; undefined if it has none. */
export async function findMultipath(devices: HostDevices, path: string): Promise<string | undefined> {
  if (path.startsWith('/dev/dm-')) return path;
  const name = deviceName((await devices.resolve(path)) ?? '');
  if (name === undefined) return undefined;
  for (const holder of await devices.list(`/sys/block/${name}/holders`))
    if (await isMultipath(devices, holder)) return `/dev/${holder}`;
  return undefined;
}

/** The names of the paths below a multipath device. */
export async function pathsOf(devices: HostDevices, multipath: string): Promise<readonly string[]> {
  const name = deviceName(multipath);
  return name === undefined ? [] : await devices.list(`/sys/block/${name}/slaves`);
}

/** differs from upstream: a logical volume or an encrypted device on the disk is not taken for its multipath device. */
async function isMultipath(devices: HostDevices, name: string): Promise<boolean> {
  if (!name.startsWith('dm-')) return false;
  const id = await devices.read(`/sys/block/${name}/dm/uuid`, 256);
  return id === undefined || id.startsWith('mpath-');
}

/** Removes the map of a multipath device. Rejects if it is in use. */
export async function flushMultipath(
  { programs }: BlockDeviceDeps,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  const run = { program: 'multipath', args: ['-f', device], timeoutMs: commandTimeoutMs };
  try {
    const { code, stderr, stdout } = await programs.run(run, signal);
    if (code === 0) return;
    throw new KubeletError(
      'unavailable',
      'MultipathFailed',
      `failed to flush multipath device ${device}: exit status ${code ?? 'unknown'} ${stdout}${stderr}`.trim(),
    );
  } catch (err) {
    if (!isKind(err, 'not-found')) throw err;
    const message =
      'multipath not found on the node: install the package multipath-tools (device-mapper-multipath)';
    throw new KubeletError('unavailable', 'ProgramNotFound', message, { cause: err });
  }
}

/** Writes what the kernel still holds for the disk. A failure is only logged: the disk may be gone. */
export async function flushBuffers(
  { log, programs }: BlockDeviceDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const run = { program: 'blockdev', args: ['--flushbufs', `/dev/${name}`], timeoutMs: commandTimeoutMs };
  const failure = await programs.run(run, signal).then(
    ({ code, stderr }) => (code === 0 ? undefined : stderr),
    (err: unknown) => err,
  );
  signal.throwIfAborted();
  if (failure !== undefined) log.warn('Failed to flush device', { device: name, err: failure });
}

/** A failure is only logged, as upstream: the other devices of the disk are still deleted. */
export async function deleteDevice(
  { devices, log }: BlockDeviceDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await devices.writeSysfs(`/sys/block/${name}/device/delete`, '1', signal);
  } catch (err) {
    signal.throwIfAborted();
    if (!isKind(err, 'not-found')) log.warn('Failed to delete block device', { device: name, err });
  }
}

/** Lets the kernel read the disk's size again, on all paths and in the multipath device above them. */
export async function rescanSize(
  deps: BlockDeviceDeps,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { devices, programs } = deps;
  const maps = new Set<string>();
  for (const name of names) {
    await devices.writeSysfs(`/sys/block/${name}/device/rescan`, '1', signal);
    const map = await findMultipath(devices, `/dev/${name}`);
    if (map !== undefined) maps.add(deviceName(map) ?? '');
  }
  for (const map of maps) {
    const run = { program: 'multipathd', args: ['resize', 'map', map], timeoutMs: commandTimeoutMs };
    const { code, stderr, stdout } = await programs.run(run, signal);
    if (code !== 0)
      throw new KubeletError(
        'unavailable',
        'MultipathFailed',
        `failed to resize multipath device ${map}: exit status ${code ?? 'unknown'} ${stdout}${stderr}`.trim(),
      );
  }
}
