import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { cgroupIn, type SystemProcesses, systemProcesses } from './system-processes.ts';

let dir: string;
let processes: SystemProcesses;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'processes-'));
  const mountPoints = new Map(['cpu', 'devices'].map((each) => [each, join(dir, each)]));
  processes = systemProcesses({
    hierarchies: { version: 1, mountPoints },
    pageSizes: [],
    clock: realClock,
    killProcess: () => undefined,
    proc: join(dir, 'proc'),
  });
});
afterEach(async () => await rm(dir, { recursive: true }));

async function writeAt(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(dir, path)), { recursive: true });
  await writeFile(join(dir, path), text);
}

test('moves a process in every hierarchy', async () => {
  for (const each of ['cpu', 'devices']) await writeAt(`${each}/kube/cgroup.procs`, '');
  await processes.move(7, '/kube');
  for (const each of ['cpu', 'devices'])
    expect(await readFile(join(dir, each, 'kube/cgroup.procs'), 'utf8')).toBe('7');
});

test('names the hierarchy in which a process cannot be moved', async () => {
  await writeAt('cpu/kube/cgroup.procs', '');
  await mkdir(join(dir, 'devices/kube'), { recursive: true });
  await expect(processes.move(7, '/kube')).rejects.toThrow(join(dir, 'devices/kube/cgroup.procs'));
});

test('lists the processes of the root cgroup', async () => {
  await writeAt('devices/cgroup.procs', '1\n2\n77\n');
  expect(await processes.inRoot()).toEqual([1, 2, 77]);
});

test('detects kernel threads by their missing executable, and containers by their PID namespace', async () => {
  for (const [pid, namespace] of [
    ['1', 'pid:[1]'],
    ['7', 'pid:[1]'],
    ['8', 'pid:[9]'],
  ] as const) {
    await mkdir(join(dir, 'proc', pid, 'ns'), { recursive: true });
    await symlink(namespace, join(dir, 'proc', pid, 'ns/pid'));
  }
  await symlink('/bin/x', join(dir, 'proc/7/exe'));
  expect([await processes.isKernelThread(7), await processes.isKernelThread(8)]).toEqual([false, true]);
  expect([await processes.isOnHost(7), await processes.isOnHost(8)]).toEqual([true, false]);
});

test('detects the initial PID namespace by its inode number if PID 1 may not be inspected', async () => {
  for (const [pid, namespace] of [
    ['7', 'pid:[4026531836]'],
    ['8', 'pid:[4026532000]'],
  ] as const) {
    await mkdir(join(dir, 'proc', pid, 'ns'), { recursive: true });
    await symlink(namespace, join(dir, 'proc', pid, 'ns/pid'));
  }
  expect([await processes.isOnHost(7), await processes.isOnHost(8)]).toEqual([true, false]);
});

describe('cgroupIn', () => {
  const v1 = (cpu: string, memory: string, systemd: string): string =>
    `9:name=systemd:${systemd}\n4:memory:${memory}\n1:cpu,cpuacct:${cpu}\n0::/\n`;
  test('v2', () =>
    expect(cgroupIn('0::/system.slice/kubelet.service\n', 2)).toBe('/system.slice/kubelet.service'));
  test('v1 with systemd', () => expect(cgroupIn(v1('/', '/', '/a.service'), 1)).toBe('/a.service'));
  test('v1 without systemd', () => expect(cgroupIn('4:memory:/a\n1:cpu:/a\n', 1)).toBe('/a'));
  test('fails if the cpu and memory hierarchies differ', () =>
    expect(() => cgroupIn(v1('/a', '/b', '/c'), 1)).toThrow('not unified.  cpu: /a, memory: /b'));
  test('fails for a process without a cgroup', () =>
    expect(() => cgroupIn('', 2)).toThrow('in no cgroup of the unified hierarchy'));
});
