import { expect, test } from 'vitest';
import { aMemoryRoom, aThreshold } from '../../test/builders/eviction.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { FakeMemoryWatches } from '../../test/fakes/fake-memory-watches.ts';
import { startComponent } from '../base/component.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { MemoryNotifications } from './memory-notifications.ts';

function rig(unavailable = false) {
  const clock = new FakeClock();
  const watches = new FakeMemoryWatches();
  watches.unavailable = unavailable;
  const logged: string[] = [];
  const state = { memory: aMemoryRoom({ capacityBytes: 1000, usageBytes: 800, workingSetBytes: 600 }) };
  const pods = aMemoryRoom({ capacityBytes: 500, usageBytes: 100, workingSetBytes: 100 });
  const notifications = new MemoryNotifications({
    watch: (request) => watches.watch(request),
    load: { memory: () => ({ memory: state.memory, kernelAvailableBytes: undefined, podMemory: pods }) },
    thresholds: [
      aThreshold('memory.available', '100'),
      aThreshold('nodefs.available', '10%'),
      aThreshold('allocatableMemory.available', '10%'),
    ],
    podsCgroup: '/kubepods',
    clock,
    log: textLogger({ write: (line) => void logged.push(line), clock, verbosity: new Verbosity(0), pid: 1 }),
  });
  let signals = 0;
  notifications.shortage.subscribe(() => signals++);
  const stop = new AbortController();
  return {
    clock,
    logged,
    state,
    stop,
    watches,
    signals: () => signals,
    start: async () => {
      const running = await startComponent(notifications, stop.signal);
      await clock.advance(0);
      return running;
    },
  };
}

test('watches the machine and the cgroup of all pods at the usage where their thresholds are met', async () => {
  const env = rig();
  await env.start();
  expect(env.watches.open.map(({ cgroup, usageBytes }) => [cgroup, usageBytes])).toEqual([
    ['/', 1000 - 100 + 200],
    ['/kubepods', 500 - 50],
  ]);
  env.watches.signal('/kubepods');
  expect(env.signals()).toBe(1);
});

test('follows the page cache, and closes its watches when the kubelet stops', async () => {
  const env = rig();
  const { stopped } = await env.start();
  env.state.memory = aMemoryRoom({ capacityBytes: 1000, usageBytes: 950, workingSetBytes: 600 });
  await env.clock.advance(10_000);
  expect(env.watches.open.map(({ usageBytes }) => usageBytes)).toEqual([1000 - 100 + 350, 450]);
  env.stop.abort();
  await stopped;
  expect(env.watches.open).toEqual([]);
});

test('a machine that cannot notify is logged once per threshold', async () => {
  const env = rig(true);
  await env.start();
  await env.clock.advance(120_000);
  expect(env.logged.filter((line) => line.includes('Failed to watch memory'))).toHaveLength(2);
});

test('a cgroup that does not exist yet is tried again and logged once', async () => {
  const env = rig();
  env.watches.missing.add('/kubepods');
  await env.start();
  await env.clock.advance(120_000);
  const failures = () => env.logged.filter((line) => line.includes('Failed to watch memory')).length;
  expect([failures(), env.watches.open.map(({ cgroup }) => cgroup)]).toEqual([1, ['/']]);
  env.watches.missing.clear();
  await env.clock.advance(10_000);
  expect([failures(), env.watches.open.map(({ cgroup }) => cgroup)]).toEqual([1, ['/', '/kubepods']]);
});
