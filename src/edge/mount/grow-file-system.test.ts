import { expect, test } from 'vitest';
import { KubeletError } from '../../base/errors.ts';
import { growFileSystem } from './grow-file-system.ts';

const growth = { device: '/dev/vdb', mountPath: '/mnt/v' };

async function programsFor(format: string | undefined): Promise<readonly string[]> {
  const programs: string[] = [];
  await growFileSystem(async (program, args) => {
    if (program !== 'blkid') programs.push([program, ...args].join(' '));
    else if (format === undefined)
      throw new KubeletError('unavailable', 'MountFailed', 'empty', { details: { code: 2 } });
    return `DEVNAME=/dev/vdb\nTYPE=${format}\n`;
  }, growth);
  return programs;
}

const cases: readonly [string, string | undefined, readonly string[]][] = [
  ['ext4', 'ext4', ['resize2fs /dev/vdb']],
  ['ext3', 'ext3', ['resize2fs /dev/vdb']],
  ['xfs by its mount', 'xfs', ['xfs_growfs -d /mnt/v']],
  ['btrfs by its mount', 'btrfs', ['btrfs filesystem resize max /mnt/v']],
  ['nothing on an unformatted device', undefined, []],
];
for (const [name, format, want] of cases)
  test(`grows ${name}`, async () => expect(await programsFor(format)).toEqual(want));

test('rejects a file system that cannot grow', async () => {
  await expect(programsFor('vfat')).rejects.toThrow(
    'resize of format vfat is not supported for device /dev/vdb',
  );
  await expect(programsFor('__proto__')).rejects.toThrow('not supported');
});
