// Mounts the file system of a block device, and formats the device first if it is empty.
// Upstream: SafeFormatAndMount of k8s.io/mount-utils. Invariant: a device with any recognised content, including a partition
// table, is never formatted.
import type { DeviceMount } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';

/** Runs a program of the node; resolves to its stdout. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

/** Exit code of blkid: nothing recognised. */
const nothingFound = 2;
/** Exit code of fsck: errors were left uncorrected. */
const uncorrectedErrors = 4;

const formatArgs: Readonly<Record<string, readonly string[]>> = {
  ext4: ['-F', '-m0'],
  ext3: ['-F', '-m0'],
  xfs: ['-f'],
};

export async function mountDevice(run: RunProgram, request: DeviceMount): Promise<void> {
  const { device, target, readOnly } = request;
  const fsType = request.fsType === '' ? 'ext4' : request.fsType;
  if (!/^[a-z][a-z0-9]*$/.test(fsType))
    throw new KubeletError(
      'invalid',
      'UnknownFileSystem',
      `${JSON.stringify(fsType)} is not a file system type`,
    );
  const found = await detectFormat(run, device);
  if (found === undefined) {
    if (readOnly)
      throw new KubeletError(
        'invalid',
        'UnformattedReadOnly',
        `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`,
      );
    await run(`mkfs.${fsType}`, [...(formatArgs[fsType] ?? []), device]);
  } else if (!readOnly) await repairFileSystem(run, device);
  const options = [...request.options, ...(readOnly ? ['ro'] : []), 'defaults'];
  await run('mount', ['-t', fsType, '-o', options.join(','), '--', device, target]);
}

/** Undefined: the device is empty. */
export async function detectFormat(run: RunProgram, device: string): Promise<string | undefined> {
  try {
    const output = await run('blkid', ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device]);
    return /^(?:TYPE|PTTYPE)=(.+)$/m.exec(output)?.[1] ?? 'unknown';
  } catch (err) {
    if (exitCode(err) === nothingFound) return undefined;
    throw err;
  }
}

async function repairFileSystem(run: RunProgram, device: string): Promise<void> {
  try {
    await run('fsck', ['-a', device]);
  } catch (err) {
    // As upstream, any other exit code is ignored: the mount itself fails if the device is unusable.
    if (exitCode(err) === uncorrectedErrors)
      throw new KubeletError(
        'invalid',
        'HasFilesystemErrors',
        `'fsck' found errors on device ${device} but could not correct them`,
        { cause: err },
      );
  }
}

function exitCode(err: unknown): number | undefined {
  const code = err instanceof KubeletError ? err.details['code'] : undefined;
  return typeof code === 'number' ? code : undefined;
}
