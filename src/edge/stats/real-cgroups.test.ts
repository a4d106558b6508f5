// Memory and tasks of a cgroup of the test's own, on the real kernel.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { findHierarchies } from '../cgroup/hierarchies.ts';
import { statsHost } from './stats-host.ts';

const controllers = ['memory', 'pids'].map((name) => `/sys/fs/cgroup/${name}`);
const hasV1 = process.getuid?.() === 0 && controllers.every((each) => existsSync(`${each}/tasks`));
const pod = `/kubelet-ts-load-${process.pid}`;
const nested = `${pod}/c-1/nested`;
let child: ChildProcess | undefined;

afterEach(async () => {
  child?.kill('SIGKILL');
  if (child !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  for (const path of controllers.flatMap((each) => [
    `${each}${nested}`,
    `${each}${pod}/c-1`,
    `${each}${pod}`,
  ])) {
    for (let tries = 0; existsSync(path) && tries < 50; tries++) {
      try {
        rmdirSync(path);
      } catch {
        await sleep(20);
      }
    }
  }
});

test.runIf(hasV1)('counts threads and processes of nested cgroups, and their memory', async () => {
  const edge = statsHost(realClock, await findHierarchies(), {
    memoryBytes: 1e12,
    swapBytes: 0,
    onUnreadable: (path) => expect(path).toBe('readable'),
  });
  for (const each of controllers) mkdirSync(`${each}${nested}`, { recursive: true });
  // A Node process has several threads.
  child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1e6)'], { stdio: 'ignore' });
  for (const each of controllers) writeFileSync(`${each}${nested}/cgroup.procs`, String(child.pid));
  const tasks = (): number => edge.cgroups?.tasks(pod) ?? 0;
  for (let tries = 0; tasks() < 5 && tries < 100; tries++) await sleep(50);
  expect(tasks()).toBeGreaterThanOrEqual(5);
  expect(edge.cgroups?.processes(pod)).toEqual([]);
  const memory = edge.cgroups?.memory(pod);
  expect(memory?.workingSetBytes).toBeGreaterThan(100_000);
  expect(memory?.limitBytes).toBe(Number.POSITIVE_INFINITY);
  const machine = edge.cgroups?.memory('/');
  expect(machine?.workingSetBytes).toBeGreaterThan(memory?.workingSetBytes ?? 0);
  expect(edge.host.availableMemoryBytes()).toBeGreaterThan(0);
});
