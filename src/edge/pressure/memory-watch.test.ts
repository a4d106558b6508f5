// Memory signals of the real kernel: a cgroup of the test's own, and a process in it that allocates.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Hierarchies } from '../cgroup/hierarchies.ts';
import { memoryPressure } from './memory-watch.ts';
import { triggerText } from './pressure-trigger.ts';
import { thresholdLine } from './usage-threshold.ts';

const memoryRoot = '/sys/fs/cgroup/memory';
const unifiedRoot = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((each) =>
  existsSync(`${each}/memory.pressure`),
);
const isRoot = process.getuid?.() === 0;
const hasV1 = isRoot && existsSync(`${memoryRoot}/cgroup.event_control`);
const hasPsi = isRoot && existsSync('/proc/pressure/memory') && unifiedRoot !== undefined;

const name = `/kubelet-ts-watch-${process.pid}`;
const v1: Hierarchies = { version: 1, mountPoints: new Map([['memory', memoryRoot]]) };
const mib = 1024 * 1024;

const cgroups: string[] = [];
const children: ChildProcess[] = [];
const watches: { close(): void }[] = [];
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'memory-watch-'));
});
afterEach(async () => {
  for (const watch of watches.splice(0)) watch.close();
  for (const child of children.splice(0)) await end(child);
  for (const path of cgroups.splice(0)) removeCgroup(path);
  await rm(dir, { recursive: true });
});

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function removeCgroup(path: string): void {
  for (let tries = 0; tries < 50 && existsSync(path); tries++) {
    try {
      rmdirSync(path);
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function makeCgroup(path: string): string {
  mkdirSync(path);
  cgroups.push(path);
  return path;
}

/** Runs a script in these cgroups; it starts after it was moved. */
function runIn(places: readonly string[], script: string): ChildProcess {
  const child = spawn('sh', ['-c', `read go; ${script}`], { stdio: ['pipe', 'ignore', 'inherit'] });
  children.push(child);
  for (const each of places) writeFileSync(`${each}/cgroup.procs`, String(child.pid));
  child.stdin?.end('go\n');
  return child;
}

const signals = () => {
  const calls: string[] = [];
  return {
    calls,
    onSignal: () => void calls.push('signal'),
    onEnd: (err: { reason: string }) => void calls.push(err.reason),
  };
};

async function until(condition: () => boolean, ms = 10_000): Promise<void> {
  for (const endMs = Date.now() + ms; !condition() && Date.now() < endMs; ) await sleep(20);
}

function descriptors(target: string): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((link) => link.includes(target)).length;
}

describe.runIf(hasV1)('cgroup v1', () => {
  const allocate = 'exec dd if=/dev/zero of=/dev/null bs=64M count=8 status=none';

  test('signals when the usage crosses the threshold, and not before', async () => {
    const cgroup = makeCgroup(`${memoryRoot}${name}`);
    const { calls, ...listener } = signals();
    const watch = await memoryPressure(v1).watch({ cgroup: name, usageBytes: 32 * mib, ...listener });
    watches.push(watch);
    await sleep(100);
    expect(calls).toEqual([]);
    runIn([cgroup], allocate);
    await until(() => calls.length > 0);
    expect(calls[0]).toBe('signal');
  });

  test('re-arming moves the threshold and leaks no descriptor', async () => {
    const cgroup = makeCgroup(`${memoryRoot}${name}`);
    const { calls, ...listener } = signals();
    const before = descriptors('eventfd');
    const watch = await memoryPressure(v1).watch({ cgroup: name, usageBytes: 10_000 * mib, ...listener });
    watches.push(watch);
    for (let round = 0; round < 20; round++) watch.rearm((32 + round) * mib);
    expect(descriptors('eventfd')).toBe(before + 1);
    runIn([cgroup], allocate);
    await until(() => calls.length > 0);
    expect(calls[0]).toBe('signal');
    watch.close();
    watch.close();
    expect(descriptors('eventfd')).toBe(before);
  });

  test('ends once if its cgroup is removed', async () => {
    makeCgroup(`${memoryRoot}${name}`);
    const { calls, ...listener } = signals();
    watches.push(await memoryPressure(v1).watch({ cgroup: name, usageBytes: mib, ...listener }));
    rmdirSync(`${memoryRoot}${name}`);
    await until(() => calls.length > 0);
    await sleep(50);
    expect(calls).toEqual(['CgroupRemoved']);
  });
});

describe('cgroup v1 that cannot signal', () => {
  test('is rejected with the file’s error, without a leaked descriptor', async () => {
    await writeFile(join(dir, 'memory.usage_in_bytes'), '1\n');
    const before = descriptors('eventfd');
    const { calls, ...listener } = signals();
    const hierarchies: Hierarchies = { version: 1, mountPoints: new Map([['memory', dir]]) };
    const outcome = memoryPressure(hierarchies).watch({ cgroup: '/', usageBytes: 1, ...listener });
    await expect(outcome).rejects.toMatchObject({ kind: 'not-found', reason: 'ENOENT' });
    expect([descriptors('eventfd'), calls]).toEqual([before, []]);
  });

  test('is rejected without a memory controller, and without cgroups', async () => {
    const request = { cgroup: '/', usageBytes: 1, ...signals() };
    const none: Hierarchies = { version: 1, mountPoints: new Map() };
    for (const hierarchies of [none, undefined])
      await expect(memoryPressure(hierarchies).watch(request)).rejects.toMatchObject({
        reason: 'NoMemorySignals',
      });
  });

  test('the line of cgroup.event_control has whole bytes', () => {
    expect([thresholdLine(5, 6, 1024.7), thresholdLine(5, 6, -3)]).toEqual(['5 6 1024', '5 6 0']);
  });
});

describe.runIf(hasPsi)('PSI triggers', () => {
  const v2: Hierarchies = { version: 2, root: unifiedRoot ?? '', controllers: new Set() };
  /** Easily reached by a process in a cgroup that is smaller than the file it reads. */
  const triggers = [
    { stallUs: 1_000, windowUs: 500_000 },
    { stallUs: 1_000, windowUs: 2_000_000 },
  ];

  test.runIf(hasV1)(
    'signal the stalls of a cgroup and of the machine, and nothing while closed',
    async () => {
      const limited = makeCgroup(`${memoryRoot}${name}`);
      const watched = makeCgroup(`${unifiedRoot}${name}`);
      writeFileSync(`${limited}/memory.limit_in_bytes`, String(8 * mib));
      const file = join(dir, 'file');
      const own = signals();
      const machine = signals();
      const closed = signals();
      const pressure = memoryPressure(v2, triggers);
      watches.push(await pressure.watch({ cgroup: name, usageBytes: 0, ...own }));
      watches.push(await pressure.watch({ cgroup: '/', usageBytes: 0, ...machine }));
      (await pressure.watch({ cgroup: name, usageBytes: 0, ...closed })).close();
      runIn(
        [limited, watched],
        `while :; do head -c ${64 * mib} /dev/zero >${file}; cat ${file} >/dev/null; done`,
      );
      await until(() => own.calls.length > 0 && machine.calls.length > 0, 15_000);
      expect([own.calls[0], machine.calls[0], closed.calls]).toEqual(['signal', 'signal', []]);
      // One per window: the event loop does not spin on a trigger that has fired.
      await sleep(200);
      expect(own.calls.length).toBeLessThan(5);
    },
  );

  test('the default trigger is accepted by the kernel, and ends once with its cgroup', async () => {
    makeCgroup(`${unifiedRoot}${name}`);
    const { calls, ...listener } = signals();
    watches.push(await memoryPressure(v2).watch({ cgroup: name, usageBytes: 0, ...listener }));
    rmdirSync(`${unifiedRoot}${name}`);
    await until(() => calls.length > 0, 2_000);
    await sleep(50);
    expect(calls).toEqual(['CgroupRemoved']);
  });
});

test('a kernel without PSI is rejected with a reason', async () => {
  const v2: Hierarchies = { version: 2, root: dir, controllers: new Set() };
  const outcome = memoryPressure(v2).watch({ cgroup: '/kubepods', usageBytes: 0, ...signals() });
  await expect(outcome).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining('no pressure stall information'),
  });
});

test('a trigger is terminated by a zero byte', () => {
  expect(triggerText({ stallUs: 100_000, windowUs: 1_000_000 })).toBe('some 100000 1000000\0');
});
