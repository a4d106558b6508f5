import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeError } from '../../base/errors.ts';
import { NodeHostDevices } from './host-devices.ts';
import { NodePrograms } from './host-programs.ts';

describe('NodeHostDevices', () => {
  const { signal } = new AbortController();
  let root: string;
  let devices: NodeHostDevices;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'host-devices-'));
    await mkdir(join(root, 'sys/block/sdb/device'), { recursive: true });
    await writeFile(join(root, 'sys/block/sdb/device/delete'), '');
    devices = new NodeHostDevices({
      programs: new NodePrograms(),
      sysDir: join(root, 'sys'),
      mountTable: join(root, 'mountinfo'),
      writeTimeoutMs: 1_000,
    });
  });
  afterEach(async () => {
    await rm(root, { recursive: true });
  });

  const failure = async (work: Promise<unknown>): Promise<string> =>
    await work.then(() => 'resolved', describeError);

  test('lists, reads and resolves, and treats missing paths as absent', async () => {
    await symlink(join(root, 'sys/block/sdb'), join(root, 'link'));
    expect(await devices.list(join(root, 'sys/block'))).toEqual(['sdb']);
    expect(await devices.resolve(join(root, 'link'))).toMatch(/\/sys\/block\/sdb$/);
    expect(await devices.exists(join(root, 'link'))).toBe(true);
    expect([
      await devices.list(join(root, 'none')),
      await devices.resolve(join(root, 'none')),
      await devices.exists(join(root, 'none')),
      await devices.read(join(root, 'none'), 10),
    ]).toEqual([[], undefined, false, undefined]);
  });

  test('refuses to read a file that is larger than the limit, also an endless one', async () => {
    await writeFile(join(root, 'text'), 'x'.repeat(11));
    expect(await failure(devices.read(join(root, 'text'), 10))).toContain('more than 10 bytes');
    expect(await failure(devices.read('/dev/zero', 10))).toContain('not a regular file');
  });

  test('reads a real file of the kernel', async () => {
    expect(Number(await devices.read('/sys/kernel/uevent_seqnum', 64))).toBeGreaterThanOrEqual(0);
  });

  test('writes to an existing file of sysfs', async () => {
    const path = join(root, 'sys/block/sdb/device/delete');
    await devices.writeSysfs(path, '- - -', signal);
    expect(await readFile(path, 'utf8')).toBe('- - -');
  });

  test('refuses to write outside sysfs, also through a link, and to a missing file', async () => {
    const outside = join(root, 'outside');
    await writeFile(outside, '');
    await symlink(outside, join(root, 'sys/link'));
    for (const path of [outside, join(root, 'sys/link'), `${join(root, 'sys')}/../outside`])
      expect(await failure(devices.writeSysfs(path, '1', signal))).toContain('refusing to write');
    expect(await failure(devices.writeSysfs(join(root, 'sys/none'), '1', signal))).toContain(
      'does not exist',
    );
    expect(await readFile(outside, 'utf8')).toBe('');
  });

  test('gives up a write that the kernel does not finish', async () => {
    // Opening a FIFO for writing waits for a reader, as a write to sysfs waits for a device that does not respond.
    const path = join(root, 'sys/block/sdb/device/rescan');
    await new NodePrograms().run({ program: 'mkfifo', args: [path], timeoutMs: 9_000 }, signal);
    expect(await failure(devices.writeSysfs(path, '1', signal))).toBe('sh did not exit within 1000 ms');
  });

  test('reads the topmost device on a mount point from the mount table', async () => {
    const at = join(root, 'sys');
    const lines = [
      `36 35 8:16 / ${at} rw - ext4 /dev/sdb rw`,
      `37 35 8:32 / ${at} rw shared:1 - ext4 /dev/sdc rw`,
      `38 35 8:48 / ${at}/block rw - ext4 /dev/sdd rw`,
    ];
    await writeFile(join(root, 'mountinfo'), lines.join('\n'));
    expect(await devices.mountedDevice(at)).toBe('/dev/sdc');
    expect(await devices.mountedDevice(join(root, 'none'))).toBeUndefined();
  });
});
