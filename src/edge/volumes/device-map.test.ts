// Block devices on a real kernel; loop devices take the place of disks.
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canMount, type MountDirectory, mountDirectory } from '../../../test/fakes/mount-directory.ts';
import { VolumeFiles } from './volume-files.ts';

const canLoop = canMount && existsSync('/dev/loop-control');
const signal = new AbortController().signal;

describe.runIf(canLoop)('block devices (root and loop devices needed)', () => {
  let ground: MountDirectory;
  let files: VolumeFiles;
  let image: string;
  let device: string;
  const losetup = (...args: readonly string[]): string => String(execFileSync('losetup', args)).trim();
  const loopsOn = (path: string): number =>
    readdirSync('/sys/block').filter((name) => {
      const file = `/sys/block/${name}/loop/backing_file`;
      return existsSync(file) && readFileSync(file, 'utf8').trim() === path;
    }).length;

  beforeEach(async () => {
    ground = await mountDirectory();
    files = new VolumeFiles({ podsDir: ground.podsDir, now: () => Date.now() });
    image = join(ground.directory, 'disk.img');
    await writeFile(image, '');
    await truncate(image, 8 * 1024 * 1024);
    device = losetup('-f', '--show', image);
  });
  afterEach(async () => {
    losetup('-d', device);
    await ground.clear();
  });

  const map = () => ({
    link: join(ground.podsDir, 'u/volumeDevices/kubernetes.io~local-volume/pv'),
    target: join(ground.directory, 'plugins/kubernetes.io~local-volume/volumeDevices/pv/u'),
  });

  test('are linked, kept open, mapped idempotently and unmapped', async () => {
    const { link, target } = map();
    await files.mapDevice(device, map(), signal);
    await files.mapDevice(device, map(), signal);
    expect(readlinkSync(link)).toBe(device);
    expect(lstatSync(target).isBlockDevice()).toBe(true);
    expect(await ground.mounts()).toEqual(['plugins/kubernetes.io~local-volume/volumeDevices/pv/u']);
    expect(loopsOn(target)).toBe(1);
    await files.unmapDevice(map(), signal);
    expect(await ground.mounts()).toEqual([]);
    expect([existsSync(link), existsSync(join(target, '..')), loopsOn(target)]).toEqual([false, false, 0]);
    await files.unmapDevice(map(), signal);
  });

  test('rejects a file, and does not remove a foreign entry in place of the link', async () => {
    await expect(files.mapDevice(image, map(), signal)).rejects.toThrow('is not a block device');
    await mkdir(map().link, { recursive: true });
    await expect(files.mapDevice(device, map(), signal)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(files.unmapDevice(map(), signal)).rejects.toMatchObject({ kind: 'conflict' });
    expect(lstatSync(map().link).isDirectory()).toBe(true);
    await files.unmount(map().target);
    for (const name of readdirSync('/sys/block').filter((each) => each.startsWith('loop'))) {
      const file = `/sys/block/${name}/loop/backing_file`;
      if (existsSync(file) && readFileSync(file, 'utf8').startsWith(map().target))
        losetup('-d', `/dev/${name}`);
    }
  });

  test('formats an empty device and keeps the content of a formatted one', async () => {
    const target = join(ground.directory, 'plugins/kubernetes.io/local-volume/mounts/pv');
    const request = { device, target, fsType: '', options: ['noatime'], readOnly: false };
    await expect(files.mountDevice({ ...request, readOnly: true }, signal)).rejects.toThrow(
      'cannot mount unformatted disk',
    );
    await files.mountDevice(request, signal);
    await writeFile(join(target, 'kept'), 'x');
    await files.unmountDevice(target);
    expect(existsSync(target)).toBe(false);
    await files.mountDevice({ ...request, readOnly: true }, signal);
    expect(readFileSync(join(target, 'kept'), 'utf8')).toBe('x');
    await files.unmountDevice(target);
    await expect(files.unmountDevice('/etc')).rejects.toMatchObject({ reason: 'OutsidePlugins' });
    await expect(files.mountDevice({ ...request, fsType: '../x' }, signal)).rejects.toThrow(
      'is not a file system type',
    );
  }, 30_000);

  test('never formats a device with partitions', async () => {
    const table = Buffer.alloc(512);
    table.writeUInt8(0x83, 450);
    table.writeUInt32LE(1, 454);
    table.writeUInt32LE(1000, 458);
    table.writeUInt16LE(0xaa55, 510);
    await writeFile(device, table);
    const target = join(ground.directory, 'plugins/kubernetes.io/local-volume/mounts/pv');
    const request = { device, target, fsType: 'ext4', options: [], readOnly: false };
    await expect(files.mountDevice(request, signal)).rejects.toThrow('mount exited with');
    expect(readFileSync(device).subarray(0, 512).equals(table)).toBe(true);
  }, 30_000);
});
