// Disks, kernel, cgroups and privileges: tables of the kernel, and this machine.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { ownCgroup, readCgroups } from './cgroup-state.ts';
import { optionsOf, readDisk } from './disk.ts';
import { fileSystemsOf, hasModule, readKernel } from './kernel.ts';
import { missingCapabilities, readPrivileges } from './privileges.ts';

const { signal } = new AbortController();

describe('readDisk', () => {
  test('a directory that does not exist yet is on the file system of the one above it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'disk-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const disk = await readDisk(join(dir, 'a', 'b'), signal);
    expect(disk).toMatchObject({ path: dir, exists: false, isReadOnly: false });
    expect(disk.totalBytes).toBeGreaterThan(disk.availableBytes);
    expect(dir.startsWith(disk.mountPoint)).toBe(true);
    expect(await readDisk(dir, signal)).toMatchObject({ path: dir, exists: true });
  });

  test('an abort ends it although the program runs', async () => {
    const stop = new AbortController();
    const disk = readDisk('/', stop.signal);
    stop.abort(new Error('late'));
    await expect(disk).rejects.toThrow('late');
  });
});

describe('optionsOf', () => {
  const table = `21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 8:2 / /data rw,relatime - ext4 /dev/sdb rw
31 21 8:3 / /ro ro,relatime - ext4 /dev/sdc rw
32 21 8:4 / /broken rw - ext4 /dev/sdd ro,errors=remount-ro
33 30 8:5 / /data rw shared:9 - xfs /dev/sde rw
34 21 8:6 / /with\\040blank rw shared:3 - xfs /dev/sdf rw
`;
  const cases = [
    ['/', false, true],
    ['/data', false, true],
    ['/ro', true, false],
    ['/broken', true, false],
    ['/with blank', false, true],
    ['/nowhere', false, false],
  ] as const;
  for (const [mountPoint, isReadOnly, isShared] of cases)
    test(mountPoint, () => expect(optionsOf(table, mountPoint)).toEqual({ isReadOnly, isShared }));
});

test('kernel modules and file systems', async () => {
  expect(fileSystemsOf('nodev\tsysfs\nnodev\toverlay\n\text4\n')).toEqual(['sysfs', 'overlay', 'ext4']);
  const list = 'kernel/fs/overlayfs/overlay.ko.xz: kernel/lib/x.ko.xz\nkernel/net/bridge/br_netfilter.ko:\n';
  expect(
    ['overlay', 'br_netfilter', 'br-netfilter', 'x', 'over'].map((name) => hasModule(list, name)),
  ).toEqual([true, true, true, false, false]);
  const kernel = await readKernel({ sysctls: ['kernel/pid_max', 'kernel/no_such'], modules: ['no_such'] });
  expect(kernel.sysctls).toEqual({
    'kernel/pid_max': expect.stringMatching(/^\d+$/) as string,
    'kernel/no_such': undefined,
  });
  expect(kernel.loadable).toEqual([]);
  expect(kernel.fileSystems).toContain('proc');
});

describe('ownCgroup', () => {
  const v1 = '5:memory:/user.slice\n4:cpu,cpuacct:/\n0::/init.scope\n';
  const cases = [
    [v1, 1, '/user.slice'],
    [v1, 2, '/init.scope'],
    ['0::/a:b\n', 2, '/a:b'],
    ['', 2, '/'],
  ] as const;
  for (const [text, version, path] of cases)
    test(`v${version}: ${path}`, () => expect(ownCgroup(text, version)).toBe(path));
});

test('the cgroups of this machine', async () => {
  const cgroups = await readCgroups();
  expect([1, 2]).toContain(cgroups.version);
  expect(cgroups.machineMemoryBytes).toBeGreaterThan(0n);
});

test('missingCapabilities', async () => {
  expect(missingCapabilities('CapInh:\t0\nCapEff:\t000001ffffffffff\n')).toEqual([]);
  expect(missingCapabilities('CapEff:\t000001fffedfffff\n')).toEqual(['CAP_SYS_ADMIN', 'CAP_SYS_RESOURCE']);
  expect(missingCapabilities('')).toContain('CAP_KILL');
  expect((await readPrivileges()).uid).toBe(process.getuid?.());
});

test('the state of the clock is read without changing it', async () => {
  const syscalls = await loadSyscalls();
  expect(typeof syscalls.isClockSynchronized()).toBe('boolean');
});
