import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { type FakeCsiDriver, FakeCsiDrivers } from '../../../test/fakes/fake-csi-drivers.ts';
import type { StorageHealthCondition, VolumeHealthCondition } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { startComponent } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { AttemptedVolume } from './compute-targets.ts';
import { VolumeHealthLoop } from './volume-health-loop.ts';
import { VolumeHealth } from './volume-health-store.ts';

const both = { stage: true, volumeHealth: true, storageHealth: true };
const minuteMs = 60_000;
describe('the loop of volume health', () => {
  let clock: FakeClock;
  let drivers: FakeCsiDrivers;
  let disk: FakeCsiDriver;
  let attempted: AttemptedVolume[];
  let health: VolumeHealth;
  let announced: string[];
  /** `driver: reason …`, as published in CSINode. */
  let published: string[];
  let metrics: Map<string, readonly StorageHealthCondition[]>;
  let apiFailure: Error | undefined;
  let errors: string[];

  beforeEach(() => {
    clock = new FakeClock();
    drivers = new FakeCsiDrivers();
    disk = drivers.add('disk', both);
    attempted = [];
    health = new VolumeHealth();
    announced = [];
    published = [];
    metrics = new Map();
    apiFailure = undefined;
    errors = [];
    health.changed.subscribe((uid) => void announced.push(uid));
  });

  function volume(uid: string, name = 'data', handle = `handle-${uid}`, driver = 'disk'): AttemptedVolume {
    const persistent = { metadata: { name }, spec: { csi: { driver, volumeHandle: handle } } };
    const spec = {
      name,
      directoryName: name,
      source: {},
      readOnly: false,
      mountOptions: [],
      persistent,
      isBlock: false,
    };
    return { uid: asPodUid(uid), spec };
  }

  async function start(over: { periodMs?: number; random?: () => number; isStandalone?: boolean } = {}) {
    const { isStandalone = false, periodMs = minuteMs, random = () => 0.5 } = over;
    const loop = new VolumeHealthLoop({
      drivers,
      volumes: {
        attempted: () => attempted,
        isAttempted: (uid, name) => attempted.some((each) => each.uid === uid && each.spec.name === name),
      },
      layout: { podsDir: '/k/pods', pluginsDir: '/k/plugins' },
      health,
      csiNode: isStandalone
        ? undefined
        : {
            reportHealth: async (driver, conditions) => {
              published.push([`${driver}:`, ...conditions.map(({ reason }) => reason)].join(' '));
              if (apiFailure !== undefined) throw apiFailure;
            },
          },
      metrics: { replace: (driver, conditions) => void metrics.set(driver, conditions) },
      periodMs,
      random,
      clock,
      log: { ...silentLogger, error: (message) => void errors.push(message) },
    });
    const stop = new AbortController();
    const { stopped } = await startComponent(loop, stop.signal);
    const end = async (): Promise<void> => {
      stop.abort();
      await clock.until(stopped);
    };
    onTestFinished(end);
    await clock.settle();
    return { end };
  }

  function degrade(handle: string, ...reasons: readonly string[]): void {
    const healthStatuses = reasons.map((reason) => ({ status: 1 as const, reason, message: '' }));
    disk.volumeHealth.set(handle, { volumeId: handle, healthStatuses });
  }

  function degradeStorage(...reasons: readonly string[]): void {
    disk.storageHealth = {
      backendHealth: reasons.map((reason) => ({
        status: 1 as const,
        reason,
        message: '',
        volumeCapability: undefined,
      })),
    };
  }

  const reasonsOf = (uid: string, name = 'data'): readonly string[] | undefined =>
    health.conditionsOf(asPodUid(uid), name)?.map(({ reason }: VolumeHealthCondition) => reason);

  async function callsIn(
    ms: number,
    method: 'volumeHealth' | 'storageHealth',
    driver = disk,
  ): Promise<number> {
    const before = driver.callsOf(method).length;
    await clock.advance(ms);
    return driver.callsOf(method).length - before;
  }

  describe('volumes', () => {
    test('are read every period, with the paths that the driver was given', async () => {
      attempted = [volume('u')];
      await start();
      drivers.register(disk);
      await clock.settle();
      expect(disk.callsOf('volumeHealth').map(({ request }) => request)).toEqual([
        {
          volumeId: 'handle-u',
          volumePublishPath: '/k/pods/u/volumes/kubernetes.io~csi/data/mount',
          stagingTargetPath: expect.stringMatching(
            /^\/k\/plugins\/kubernetes.io\/csi\/disk\/.*\/globalmount$/,
          ),
        },
      ]);
      expect(await callsIn(minuteMs - 1, 'volumeHealth')).toBe(0);
      expect(await callsIn(1, 'volumeHealth')).toBe(1);
      expect(await callsIn(10 * minuteMs, 'volumeHealth')).toBe(10);
    });

    test('of a driver that does not stage have no staging path', async () => {
      disk.capabilities = { ...disk.capabilities, stage: false };
      attempted = [volume('u')];
      drivers.register(disk);
      await start();
      expect(disk.callsOf('volumeHealth')).toMatchObject([{ request: { stagingTargetPath: '' } }]);
    });

    test('announce their pod when the conditions change, and only then', async () => {
      attempted = [volume('u'), volume('w')];
      drivers.register(disk);
      await start();
      expect([reasonsOf('u'), reasonsOf('w')]).toEqual([[], []]);
      announced = [];
      degrade('handle-u', 'Slow');
      await clock.advance(3 * minuteMs);
      expect([reasonsOf('u'), reasonsOf('w'), announced]).toEqual([['Slow'], [], ['u']]);
      degrade('handle-u');
      await clock.advance(3 * minuteMs);
      expect([reasonsOf('u'), announced]).toEqual([[], ['u', 'u']]);
    });

    test('keep what was reported while calls fail', async () => {
      attempted = [volume('u')];
      degrade('handle-u', 'Slow');
      drivers.register(disk);
      await start();
      for (const method of ['volumeHealth', 'capabilities'] as const) {
        disk.fail(method, { code: 'INTERNAL', times: 2 });
        await clock.advance(5 * minuteMs);
        expect(reasonsOf('u')).toEqual(['Slow']);
      }
      expect(errors).toEqual([]);
    });

    test('recover when the driver no longer has the capability', async () => {
      attempted = [volume('u')];
      degrade('handle-u', 'Slow');
      drivers.register(disk);
      await start();
      disk.capabilities = { ...disk.capabilities, volumeHealth: false };
      expect(await callsIn(minuteMs, 'volumeHealth')).toBe(0);
      expect(reasonsOf('u')).toEqual([]);
    });

    test('that are not in use any longer are forgotten', async () => {
      attempted = [volume('u'), volume('w')];
      drivers.register(disk);
      await start();
      attempted = [volume('w')];
      await clock.advance(minuteMs);
      expect([reasonsOf('u'), reasonsOf('w')]).toEqual([undefined, []]);
      drivers.deregister('disk');
      await clock.advance(minuteMs);
      expect(reasonsOf('w')).toBeUndefined();
    });

    test('that were unmounted during the call are not reported', async () => {
      attempted = [volume('u')];
      disk.volumeHealth.get = () => {
        attempted = [];
        return undefined;
      };
      drivers.register(disk);
      await start();
      expect(disk.callsOf('volumeHealth')).toHaveLength(1);
      expect(reasonsOf('u')).toBeUndefined();
    });

    test('are probed a few at a time; one that hangs delays no other', async () => {
      attempted = Array.from({ length: 50 }, (_, at) => volume(`u${at}`));
      disk.fail('volumeHealth', { code: 'hang', times: 1 });
      drivers.register(disk);
      await start();
      expect(disk.mostActive).toBeLessThanOrEqual(5);
      expect(attempted.filter(({ uid }) => reasonsOf(uid) !== undefined)).toHaveLength(49);
    });
  });

  describe('storage', () => {
    test('is published in CSINode and as a metric', async () => {
      degradeStorage('Slow', 'Lossy');
      drivers.register(disk);
      await start();
      expect(published).toEqual(['disk: Slow Lossy']);
      expect(metrics.get('disk')?.map(({ reason }) => reason)).toEqual(['Slow', 'Lossy']);
      degradeStorage();
      expect(await callsIn(minuteMs, 'storageHealth')).toBe(1);
      expect([published.at(-1), metrics.get('disk')]).toEqual(['disk:', []]);
    });

    test('keeps what was published while calls fail', async () => {
      degradeStorage('Slow');
      drivers.register(disk);
      await start();
      disk.fail('storageHealth', { code: 'INTERNAL', times: 2 });
      degradeStorage(...Array.from({ length: 17 }, (_, at) => `R${at}`));
      expect(await callsIn(5 * minuteMs, 'storageHealth')).toBe(5);
      expect(published).toEqual(['disk: Slow']);
      expect(metrics.get('disk')).toHaveLength(1);
    });

    test('is withdrawn a period after the driver has gone, but not while it restarts', async () => {
      degradeStorage('Slow');
      drivers.register(disk);
      await start();
      drivers.deregister('disk');
      await clock.advance(30_000);
      drivers.register(disk);
      await clock.settle();
      expect(published.filter((each) => each === 'disk:')).toEqual([]);
      drivers.deregister('disk');
      await clock.advance(minuteMs);
      expect([published.at(-1), metrics.get('disk')]).toEqual(['disk:', []]);
      const count = published.length;
      await clock.advance(10 * minuteMs);
      expect(published).toHaveLength(count);
    });

    test('is withdrawn when the driver no longer has the capability', async () => {
      degradeStorage('Slow');
      drivers.register(disk);
      await start();
      disk.capabilities = { ...disk.capabilities, storageHealth: false };
      await clock.advance(5 * minuteMs);
      expect(published).toEqual(['disk: Slow', 'disk:']);
      expect(disk.callsOf('storageHealth')).toHaveLength(1);
    });

    test('that could not be withdrawn is withdrawn later', async () => {
      degradeStorage('Slow');
      drivers.register(disk);
      await start();
      apiFailure = new KubeletError('unavailable', 'Down', 'no');
      drivers.deregister('disk');
      await clock.advance(3 * minuteMs);
      expect(errors).toEqual(Array.from({ length: 3 }, () => 'Failed to update CSINode storage health'));
      apiFailure = undefined;
      await clock.advance(3 * minuteMs);
      expect(published.slice(1)).toEqual(Array.from({ length: 4 }, () => 'disk:'));
    });

    test('of a standalone node is a metric only', async () => {
      degradeStorage('Slow');
      drivers.register(disk);
      await start({ isStandalone: true });
      expect([published, metrics.get('disk')?.length]).toEqual([[], 1]);
    });
  });

  test('without drivers nothing runs', async () => {
    attempted = [volume('u')];
    await start();
    await clock.advance(10 * minuteMs);
    expect(disk.calls).toEqual([]);
  });

  test('a driver with neither capability receives no other call than that of its capabilities', async () => {
    disk.capabilities = { ...disk.capabilities, volumeHealth: false, storageHealth: false };
    attempted = [volume('u')];
    drivers.register(disk);
    await start();
    await clock.advance(10 * minuteMs);
    expect(new Set(disk.calls.map(({ method }) => method))).toEqual(new Set(['capabilities']));
  });

  test('drivers that hang delay no other, and their volumes do not delay their storage', async () => {
    const hung = Array.from({ length: 20 }, (_, at) => drivers.add(`hung-${at}`, both));
    for (const each of hung) {
      each.fail('volumeHealth', { code: 'hang' });
      drivers.register(each);
    }
    attempted = [
      volume('u'),
      ...hung.flatMap(({ name }) => ['a', 'b', 'c', 'd', 'e'].map((uid) => volume(uid, name, 'h', name))),
    ];
    drivers.register(disk);
    await start();
    expect(await callsIn(5 * minuteMs, 'volumeHealth')).toBe(5);
    for (const each of hung) expect(each.callsOf('storageHealth')).toHaveLength(6);
    for (const each of hung) expect(each.callsOf('volumeHealth')).toHaveLength(4);
  });

  for (const [random, firstMs] of [
    [0, 54_000],
    [0.5, 60_000],
    [0.999_999, 66_000],
  ] as const)
    test(`a period of 0 is a minute; with a jitter of up to a tenth, here ${firstMs} ms`, async () => {
      attempted = [volume('u')];
      drivers.register(disk);
      await start({ periodMs: 0, random: () => random });
      expect(await callsIn(firstMs - 1, 'volumeHealth')).toBe(0);
      expect(await callsIn(1, 'volumeHealth')).toBe(1);
    });

  test('a stop ends the calls in flight', async () => {
    attempted = [volume('u')];
    for (const method of ['volumeHealth', 'storageHealth'] as const) disk.fail(method, { code: 'hang' });
    drivers.register(disk);
    const { end } = await start();
    expect(disk.active).toBe(2);
    await end();
    expect([disk.active, errors]).toEqual([0, []]);
  });
});
