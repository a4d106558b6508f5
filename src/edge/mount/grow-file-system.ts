// Grows the file system of a block device to the size of the device. Upstream: ResizeFs of k8s.io/mount-utils.
// Invariant: a device without a file system is left alone: formatting it uses its whole size.
import type { FileSystemGrowth } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { detectFormat, type RunProgram } from './mount-device.ts';

type Grow = (growth: FileSystemGrowth) => readonly [program: string, ...args: readonly string[]];

/** All of them succeed if the file system already has the size. */
const programs: Readonly<Record<string, Grow>> = {
  ext3: ({ device }) => ['resize2fs', device],
  ext4: ({ device }) => ['resize2fs', device],
  xfs: ({ mountPath }) => ['xfs_growfs', '-d', mountPath],
  btrfs: ({ mountPath }) => ['btrfs', 'filesystem', 'resize', 'max', mountPath],
};

export async function growFileSystem(run: RunProgram, growth: FileSystemGrowth): Promise<void> {
  const { device, mountPath } = growth;
  const format = await detectFormat(run, device);
  if (format === undefined) return;
  const grow = Object.hasOwn(programs, format) ? programs[format] : undefined;
  if (grow === undefined)
    throw new KubeletError(
      'invalid',
      'UnsupportedResize',
      `ResizeFS.Resize - resize of format ${format} is not supported for device ${device} mounted at ${mountPath}`,
    );
  const [program, ...args] = grow(growth);
  await run(program, args);
}
