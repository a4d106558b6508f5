import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { silentLogger } from '../../base/log/log.ts';
import { MountedVolumes } from '../mounted-volumes.ts';
import { pluginDefaults, type VolumePlugin, type VolumeSpec, type VolumeStats } from '../plugin.ts';
import { VolumeStatsReader } from './volume-stats.ts';

const periodMs = 60_000;
const uid = asPodUid('u1');
const other = asPodUid('u2');
const usage = (usedBytes: number): VolumeStats => ({
  usedBytes,
  capacityBytes: 1,
  availableBytes: 1,
  inodesUsed: 1,
  inodes: 1,
  inodesFree: 1,
});

/** Volumes whose measurements the test answers by path. */
function world() {
  const clock = new FakeClock(0);
  const mounts = new MountedVolumes();
  const measured: string[] = [];
  const answers = new Map<string, () => Promise<VolumeStats>>();
  const plugin: VolumePlugin = {
    ...pluginDefaults,
    name: 'memory',
    canServe: () => true,
    setUp: () => Promise.reject(new Error('not used')),
    stats: (path) => {
      measured.push(path);
      return answers.get(path)?.() ?? Promise.resolve(usage(1));
    },
  };
  const mount = (pod: typeof uid, name: string, source: VolumeSpec['source'] = { emptyDir: {} }): void => {
    const spec = {
      name,
      directoryName: name,
      source,
      readOnly: false,
      mountOptions: [],
      persistent: undefined,
      isBlock: false,
    };
    const location = { kind: 'path', path: `/${pod}/${name}` } as const;
    mounts.set(pod, { spec, plugin, location, readOnly: false, managed: true, mountedAtMs: clock.now() });
  };
  const metrics = { measured: () => undefined };
  const reader = new VolumeStatsReader({ mounts, clock, log: silentLogger, periodMs, metrics });
  for (const wake of reader.wakes) wake.subscribe();
  const used = async (pod = uid): Promise<readonly (readonly [string, number])[]> => {
    const local = reader.localOfPod(pod);
    await clock.until(local.fresh, 1_000);
    return local.latest().map(({ name, usedBytes }) => [name, usedBytes] as const);
  };
  return { clock, mounts, measured, answers, mount, reader, used };
}

const never = (): Promise<never> => new Promise(() => undefined);

test('an emptyDir above its sizeLimit is seen by the next pass of eviction, 10 s later', async () => {
  const { answers, clock, mount, reader, used } = world();
  mount(uid, 'data', { emptyDir: { sizeLimit: '1Ki' } });
  expect(await used()).toEqual([['data', 1]]);
  answers.set('/u1/data', async () => usage(5_000));
  await clock.advance(10_000);
  expect(await used()).toEqual([['data', 5_000]]);
  expect(reader.localOfPod(uid).latest()).toMatchObject([
    { sizeLimitBytes: 1_024n, isLocalEphemeral: true, measuredAtMs: clock.now() },
  ]);
});

test('passes close together share a measurement', async () => {
  const { clock, measured, mount, used } = world();
  mount(uid, 'data');
  for (let pass = 0; pass < 5; pass++) {
    await used();
    await clock.advance(900);
  }
  expect(measured).toHaveLength(1);
});

test('only emptyDirs and local ephemeral volumes are measured, the latter once per period', async () => {
  const { clock, measured, mount, used } = world();
  mount(uid, 'memory', { emptyDir: { medium: 'Memory' } });
  mount(uid, 'config', { configMap: { name: 'c' } });
  mount(uid, 'server', { nfs: { server: 's', path: '/' } });
  mount(uid, 'secret', { secret: { secretName: 's' } });
  expect(await used()).toEqual([
    ['memory', 1],
    ['config', 1],
  ]);
  await clock.advance(10_000);
  await used();
  expect(measured).toEqual(['/u1/memory', '/u1/config', '/u1/memory']);
});

test('a hung volume delays neither the other volumes of its pod nor other pods', async () => {
  const { answers, clock, mount, reader, used } = world();
  for (let index = 0; index < 6; index++) {
    mount(uid, `hung-${index}`);
    answers.set(`/u1/hung-${index}`, never);
  }
  mount(uid, 'data');
  mount(other, 'data');
  const local = reader.localOfPod(uid);
  const slow = used(other);
  await clock.advance(2_400);
  expect(local.latest().map(({ name }) => name)).toEqual(['data']);
  expect(await slow).toEqual([['data', 1]]);
});

test('a measurement in flight is not started again, and its last figure is kept', async () => {
  const { answers, clock, measured, mount, reader, used } = world();
  mount(uid, 'huge');
  await used();
  let finish: (stats: VolumeStats) => void = () => undefined;
  answers.set('/u1/huge', () => new Promise((resolve) => (finish = resolve)));
  await clock.advance(10_000);
  for (let pass = 0; pass < 4; pass++) {
    expect(reader.localOfPod(uid).latest()).toMatchObject([{ usedBytes: 1 }]);
    await clock.advance(10_000);
  }
  expect(measured).toHaveLength(2);
  finish(usage(9));
  await clock.advance(0);
  // It took 40 s: it is measured again only after the period.
  await clock.advance(periodMs - 1_000);
  expect(await used()).toEqual([['huge', 9]]);
  expect(measured).toHaveLength(2);
});

test('a failed measurement omits the volume', async () => {
  const { answers, clock, mount, used } = world();
  mount(uid, 'data');
  await used();
  answers.set('/u1/data', () => Promise.reject(new Error('input/output error')));
  await clock.advance(10_000);
  expect(await used()).toEqual([]);
});

test('drops the figures of an unmounted volume', async () => {
  const { mount, mounts, used } = world();
  mount(uid, 'data');
  await used();
  mounts.delete(uid);
  expect(await used()).toEqual([]);
});
