// Mounts the file system of a block device, making one first where there is nothing at all on it.
// Upstream: SafeFormatAndMount of k8s.io/mount-utils. Invariant: a device on which anything is recognised, a table of partitions
// included, is never formatted.
import type { DeviceMount } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';

/** Runs one of the machine's programs; resolves to what it wrote. */
type RunProgram = (program: string, args: readonly string[]) => Promise<string>;

const nothingFound = 2;
/** fsck: errors were found and are still there. */
const unmended = 4;

const formatArgs: Readonly<Record<string, readonly string[]>> = {
  ext4: ['-F', '-m0'],
  ext3: ['-F', '-m0'],
  xfs: ['-f'],
};

export async function mountDevice(run: RunProgram, request: DeviceMount): Promise<void> {
  const { device, target, readOnly } = request;
  const fsType = request.fsType === '' ? 'ext4' : request.fsType;
  if (!/^[a-z][a-z0-9]*$/.test(fsType))
    throw new KubeletError('invalid', 'UnknownFileSystem', `${JSON.stringify(fsType)} is no file system`);
  const found = await formatOf(run, device);
  if (found === undefined) {
    if (readOnly)
      throw new KubeletError(
        'invalid',
        'UnformattedReadOnly',
        `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`,
      );
    await run(`mkfs.${fsType}`, [...(formatArgs[fsType] ?? []), device]);
  } else if (!readOnly) await mend(run, device);
  const options = [...request.options, ...(readOnly ? ['ro'] : []), 'defaults'];
  await run('mount', ['-t', fsType, '-o', options.join(','), '--', device, target]);
}

/** Undefined: nothing is on it. */
async function formatOf(run: RunProgram, device: string): Promise<string | undefined> {
  try {
    const said = await run('blkid', ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device]);
    return /^(?:TYPE|PTTYPE)=(.+)$/m.exec(said)?.[1] ?? 'unknown';
  } catch (err) {
    if (exitCode(err) === nothingFound) return undefined;
    throw err;
  }
}

async function mend(run: RunProgram, device: string): Promise<void> {
  try {
    await run('fsck', ['-a', device]);
  } catch (err) {
    // With any other end the mount itself tells whether the device can be used, as upstream has it.
    if (exitCode(err) === unmended)
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
