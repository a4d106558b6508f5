import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HostReader } from './host-reader.ts';
import { KernelFiles } from './kernel-files.ts';
import { deviceMounts } from './mounted-devices.ts';
import { OwnProcess } from './own-process.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'host-reader-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function writeFiles(files: Readonly<Record<string, string>>): Promise<HostReader> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), text);
  }
  return new HostReader({ files: new KernelFiles(), proc: dir });
}

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
  eth0:2026 20 1 2 0 0 0 0 542 5 3 4 0 0 0 0
veth12: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9
 cni0: 5 1 0 0 0 0 0 0 6 2 0 0 0 0 0 0
 torn: 5 1
`;

test('reads the interfaces of a process, without loopback and veth devices', async () => {
  const reader = await writeFiles({ '42/net/dev': netDev });
  const eth0 = {
    name: 'eth0',
    rxBytes: 2026,
    rxPackets: 20,
    rxErrors: 1,
    rxDropped: 2,
    txBytes: 542,
    txPackets: 5,
    txErrors: 3,
    txDropped: 4,
  };
  expect(reader.interfaces(42)).toEqual([eth0, expect.objectContaining({ name: 'cni0', txBytes: 6 })]);
  expect(reader.interfaces(43)).toEqual([]);
});

test('reads the number of tasks and the lower one of both limits', async () => {
  const reader = await writeFiles({
    loadavg: '1.36 3.49 4.53 2/3518 3715089\n',
    'sys/kernel/pid_max': '32768\n',
    'sys/kernel/threads-max': '192798\n',
  });
  expect(reader.tasks()).toEqual({ max: 32_768, current: 3518 });
  expect((await writeFiles({ loadavg: 'torn' })).tasks().current).toBeUndefined();
});

test('reads the available memory as the kernel estimates it', async () => {
  const reader = await writeFiles({
    meminfo: 'MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:    7000 kB\n',
  });
  expect(reader.availableMemoryBytes()).toBe(7_168_000);
  expect((await writeFiles({ meminfo: 'MemTotal: 8000 kB\n' })).availableMemoryBytes()).toBeUndefined();
});

test('counts descriptors and sockets of a process, and none of one that has ended', async () => {
  const reader = await writeFiles({
    '42/limits':
      'Limit  Soft Limit Hard Limit Units\nMax open files            1024                 4096   files\n',
    '42/fd/.keep': '',
  });
  await rm(join(dir, '42/fd/.keep'));
  await symlink('socket:[1]', join(dir, '42/fd/0'));
  await symlink('/dev/null', join(dir, '42/fd/1'));
  expect([reader.processDetails(42), reader.softOpenFiles(42)]).toEqual([
    { descriptors: 2, sockets: 1 },
    1024,
  ]);
  expect([reader.processDetails(43), reader.softOpenFiles(43)]).toEqual([
    { descriptors: 0, sockets: 0 },
    undefined,
  ]);
});

describe('ownCgroup', () => {
  test.each([
    ['v1, unified', 1, '3:cpu,cpuacct:/a\n2:memory:/a\n', '/a'],
    ['v1, different controllers', 1, '3:cpu:/a\n2:memory:/b\n', undefined],
    ['v2', 2, '0::/system.slice/kubelet.service\n', '/system.slice/kubelet.service'],
  ] as const)('%s', async (_, version, text, path) =>
    expect((await writeFiles({ 'self/cgroup': text })).ownCgroup(version)).toBe(path),
  );
});

test('measures the files of a directory, without its sub-directories', async () => {
  const reader = await writeFiles({
    'logs/0.log': 'x'.repeat(5000),
    'logs/1.log': '',
    'logs/below/2.log': 'x',
  });
  expect(await reader.filesIn(join(dir, 'logs'))).toMatchObject({ inodes: 2 });
  expect((await reader.filesIn(join(dir, 'logs')))?.bytes).toBeGreaterThanOrEqual(5000);
  expect(await reader.filesIn(join(dir, 'gone'))).toBeUndefined();
  expect([await reader.file(join(dir, 'logs/1.log')), await reader.file(join(dir, 'gone'))]).toEqual([
    { bytes: 0, inodes: 1 },
    undefined,
  ]);
});

test('lists each device once, at its shortest mount point', () => {
  const table = [
    '27 1 254:0 / /data rw - ext4 /dev/vda rw',
    '28 1 254:0 / / rw - ext4 /dev/vda rw',
    '29 1 0:5 / /proc rw - proc proc rw',
    '30 1 254:1 / /b\\040c rw - ext4 /dev/vdb rw',
  ].join('\n');
  expect(deviceMounts(table)).toEqual([{ device: '/dev/vda', numbers: '254:0', mountPoint: '/' }]);
});

test('reads this machine and this process', async () => {
  const files = new KernelFiles();
  const reader = new HostReader({ files });
  expect((await reader.topology()).cores).toBeGreaterThan(0);
  expect(reader.tasks().current).toBeGreaterThan(0);
  expect((await reader.space('/')).capacityBytes).toBeGreaterThan(0);
  const own = new OwnProcess(files);
  const first = own.read();
  expect(first.loopDelay).toBeUndefined();
  expect(first.residentBytes).toBeGreaterThan(10_000_000);
  expect(first.openFiles).toBeGreaterThan(2);
  expect(first.startedAtSeconds).toBeGreaterThan(1_600_000_000);
  expect(own.read().loopDelay).toMatchObject({ meanSeconds: expect.any(Number) });
  own.close();
});
