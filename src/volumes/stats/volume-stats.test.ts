import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { silentLogger } from '../../base/log/log.ts';
import { type MountedVolume, MountedVolumes } from '../mounted-volumes.ts';
import { pluginDefaults, type VolumePlugin, type VolumeStats } from '../plugin.ts';
import { VolumeStatsReader } from './volume-stats.ts';

const periodMs = 60_000;
const uid = asPodUid('u1');
const { signal } = new AbortController();
const usage = (usedBytes: number): VolumeStats => ({
  usedBytes,
  capacityBytes: 1,
  availableBytes: 1,
  inodesUsed: 1,
  inodes: 1,
  inodesFree: 1,
});

function aVolume(over: Partial<VolumePlugin>): MountedVolume {
  const plugin: VolumePlugin = {
    ...pluginDefaults,
    name: 'slow',
    canServe: () => true,
    setUp: () => Promise.reject(new Error('not used')),
    ...over,
  };
  const spec = {
    name: 'data',
    directoryName: 'data',
    source: { emptyDir: {} },
    readOnly: false,
    mountOptions: [],
    persistent: undefined,
    isBlock: false,
  };
  const location = { kind: 'path', path: '/data' } as const;
  return { spec, plugin, location, readOnly: false, managed: true, mountedAtMs: 0 };
}

/** A volume whose measurements end when the test resolves them. */
function slowVolume() {
  const clock = new FakeClock(0);
  const mounts = new MountedVolumes();
  const resolvers: ((stats: VolumeStats) => void)[] = [];
  mounts.set(uid, aVolume({ stats: () => new Promise((resolve) => resolvers.push(resolve)) }));
  const log = silentLogger;
  const reader = new VolumeStatsReader({
    mounts,
    clock,
    log,
    periodMs,
    metrics: { measured: () => undefined },
  });
  const used = async (): Promise<readonly number[]> =>
    (await reader.ofPod(uid, signal)).map(({ usedBytes }) => usedBytes);
  return { clock, resolvers, used };
}

test('reports a measurement that takes longer than the period, without starting a second one', async () => {
  const { clock, resolvers, used } = slowVolume();
  const first = used();
  await clock.advance(2 * periodMs);
  const second = used();
  expect(resolvers).toHaveLength(1);
  resolvers[0]?.(usage(1));
  expect([await first, await second]).toEqual([[1], [1]]);
  await clock.advance(periodMs - 1);
  expect(await used()).toEqual([1]);
  expect(resolvers).toHaveLength(1);
});

test('measures again when the period after a measurement is over', async () => {
  const { clock, resolvers, used } = slowVolume();
  const first = used();
  await clock.advance(0);
  resolvers[0]?.(usage(1));
  await first;
  await clock.advance(periodMs);
  const second = used();
  await clock.advance(0);
  resolvers[1]?.(usage(2));
  expect(await second).toEqual([2]);
});

test('drivers that do not respond delay those that do by a moment only', async () => {
  const clock = new FakeClock(0);
  const mounts = new MountedVolumes();
  const volumeOf = (path: string): MountedVolume => ({
    ...aVolume({
      isRemote: true,
      stats: (at) => (at === '/good' ? Promise.resolve(usage(1)) : new Promise(() => undefined)),
    }),
    location: { kind: 'path', path },
  });
  const hung = Array.from({ length: 40 }, (_, at) => asPodUid(`hung${at}`));
  for (const each of hung) mounts.set(each, volumeOf('/hung'));
  mounts.set(uid, volumeOf('/good'));
  const metrics = { measured: () => undefined };
  const reader = new VolumeStatsReader({ mounts, clock, log: silentLogger, periodMs, metrics });
  const others = hung.map((each) => reader.ofPod(each, new AbortController().signal));
  let measured: readonly unknown[] = [];
  const good = reader.ofPod(uid, signal).then((usages) => (measured = usages));
  await clock.advance(1_000);
  expect(measured).toHaveLength(1);
  await clock.until(Promise.all([good, ...others]));
  expect(clock.pendingTimers()).toBe(0);
});
