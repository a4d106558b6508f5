import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { cgroupIn, type SystemProcesses, systemProcesses } from './system-processes.ts';

let made: string;
let processes: SystemProcesses;
beforeEach(async () => {
  made = await mkdtemp(join(tmpdir(), 'processes-'));
  const mountPoints = new Map(['cpu', 'devices'].map((each) => [each, join(made, each)]));
  processes = systemProcesses({
    hierarchies: { version: 1, mountPoints },
    pageSizes: [],
    clock: realClock,
    killProcess: () => undefined,
    proc: join(made, 'proc'),
  });
});
afterEach(async () => await rm(made, { recursive: true }));

async function lay(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(made, path)), { recursive: true });
  await writeFile(join(made, path), text);
}

test('a process is moved in every hierarchy', async () => {
  for (const each of ['cpu', 'devices']) await lay(`${each}/kube/cgroup.procs`, '');
  await processes.move(7, '/kube');
  for (const each of ['cpu', 'devices'])
    expect(await readFile(join(made, each, 'kube/cgroup.procs'), 'utf8')).toBe('7');
});

test('where it cannot be moved is told', async () => {
  await lay('cpu/kube/cgroup.procs', '');
  await mkdir(join(made, 'devices/kube'), { recursive: true });
  await expect(processes.move(7, '/kube')).rejects.toThrow(join(made, 'devices/kube/cgroup.procs'));
});

test('who is in the top', async () => {
  await lay('devices/cgroup.procs', '1\n2\n77\n');
  expect(await processes.inRoot()).toEqual([1, 2, 77]);
});

test('threads of the kernel have no program; a container has processes of its own', async () => {
  for (const [pid, namespace] of [
    ['1', 'pid:[1]'],
    ['7', 'pid:[1]'],
    ['8', 'pid:[9]'],
  ] as const) {
    await mkdir(join(made, 'proc', pid, 'ns'), { recursive: true });
    await symlink(namespace, join(made, 'proc', pid, 'ns/pid'));
  }
  await symlink('/bin/x', join(made, 'proc/7/exe'));
  expect([await processes.isKernelThread(7), await processes.isKernelThread(8)]).toEqual([false, true]);
  expect([await processes.isOnHost(7), await processes.isOnHost(8)]).toEqual([true, false]);
});

test('where the first process may not be looked at, the namespace of the machine is known by its number', async () => {
  for (const [pid, namespace] of [
    ['7', 'pid:[4026531836]'],
    ['8', 'pid:[4026532000]'],
  ] as const) {
    await mkdir(join(made, 'proc', pid, 'ns'), { recursive: true });
    await symlink(namespace, join(made, 'proc', pid, 'ns/pid'));
  }
  expect([await processes.isOnHost(7), await processes.isOnHost(8)]).toEqual([true, false]);
});

describe('the cgroup of a process (getContainer)', () => {
  const v1 = (cpu: string, memory: string, systemd: string): string =>
    `9:name=systemd:${systemd}\n4:memory:${memory}\n1:cpu,cpuacct:${cpu}\n0::/\n`;
  test('v2', () =>
    expect(cgroupIn('0::/system.slice/kubelet.service\n', 2)).toBe('/system.slice/kubelet.service'));
  test('v1 under systemd', () => expect(cgroupIn(v1('/', '/', '/a.service'), 1)).toBe('/a.service'));
  test('v1 without', () => expect(cgroupIn('4:memory:/a\n1:cpu:/a\n', 1)).toBe('/a'));
  test('cpu and memory disagree', () =>
    expect(() => cgroupIn(v1('/a', '/b', '/c'), 1)).toThrow('not unified.  cpu: /a, memory: /b'));
  test('in none', () => expect(() => cgroupIn('', 2)).toThrow('in no cgroup of the unified hierarchy'));
});
