import { describe, expect, test } from 'vitest';
import { aPod, type PodOver } from '../../test/builders/builders.ts';
import {
  aDisk,
  aMemoryRoom,
  amount,
  aPodLoad,
  aThreshold,
  aVolumeUsage,
} from '../../test/builders/eviction.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { EventText } from '../api/ports/events.ts';
import type { NodeSignals, PodLoad } from '../api/ports/node-usage.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import type { Threshold } from './decide/thresholds.ts';
import { PodEvictor } from './evict-pods.ts';
import { EvictionManager } from './eviction-manager.ts';
import { EvictionReport } from './eviction-report.ts';
import { Pressure } from './pressure.ts';
import type { EvictionSettings } from './settings.ts';

const hard = [aThreshold('memory.available', '1Gi')];

const killMs = 50;
const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 0,
  waiting: {},
  explain: '',
  explainSinceMs: 0,
};

interface Usage {
  readonly memory?: string;
  readonly disk?: string;
  readonly processes?: number;
}

/** A node on which a killed pod frees what it used. */
function node(thresholds: readonly Threshold[], settings: Partial<EvictionSettings> = {}) {
  const clock = new FakeClock();
  const pods = new Map<PodUid, Pod>();
  const usages = new Map<PodUid, Usage>();
  const lifecycles = new Map<PodUid, PodLifecycle>();
  const changed = new Channel<PodUid>();
  const pressure = new Pressure();
  const memoryShortage = new Channel<void>();
  const runtimeAnswered = new Channel<void>();
  const free = { memory: amount('4Gi'), disk: amount('40Gi'), inodes: 1_000, processes: 1_000 };
  const state = {
    runtimeAnswers: true,
    killsHang: false,
    reclaimHangs: false,
    onMeasured: (): void => undefined,
    /** Memory that a kill frees for some other reason than the pod's usage. */
    reclaimable: { images: 0, containers: 0 },
    /** When the disk usage of an evicted pod goes: writable layers and logs go later than volumes. */
    freeing: 'with the volumes' as 'with the volumes' | 'late' | 'hangs',
    hidden: new Set<PodUid>(),
    signalsFail: false,
    broken: new Set<'nodeFs' | 'memory'>(),
    reads: 0,
  };
  const log: string[] = [];
  const metrics: string[] = [];
  const logged: string[] = [];
  const killed = new Map<PodUid, PodKill>();
  const records: PodUid[] = [];
  const name = (uid: PodUid): string => pods.get(uid)?.metadata?.name ?? uid;

  const memory = (): Pick<NodeSignals, 'memory' | 'kernelAvailableBytes' | 'podMemory'> => ({
    memory: state.broken.has('memory')
      ? undefined
      : aMemoryRoom({ atMs: clock.now(), capacityBytes: amount('8Gi'), availableBytes: free.memory }),
    kernelAvailableBytes: free.memory + amount('2Gi'),
    podMemory: undefined,
  });
  const disk = () =>
    aDisk({
      atMs: clock.now(),
      capacityBytes: amount('100Gi'),
      availableBytes: free.disk,
      inodes: 10_000,
      inodesFree: free.inodes,
    });
  const loadOf = (pod: Pod): PodLoad => {
    const usage = usages.get(podUid(pod)) ?? {};
    const usedBytes = amount(usage.disk ?? '0');
    return aPodLoad(pod, {
      workingSetBytes: amount(usage.memory ?? '0'),
      processes: usage.processes ?? 0,
      ephemeralBytes: usedBytes,
      volumes: [aVolumeUsage({ name: 'cache', usedBytes, inodesUsed: 10 })],
    });
  };
  const kills = {
    get: (uid: PodUid) => killed.get(uid),
    kill: async (uid: PodUid, kill: PodKill): Promise<void> => {
      killed.set(uid, kill);
      log.push(`kill ${name(uid)} in ${kill.graceSeconds} s`);
      if (state.killsHang) await new Promise(() => undefined);
      await clock.sleep(killMs);
      const usage = usages.get(uid);
      free.memory += amount(usage?.memory ?? '0');
      if (state.freeing === 'with the volumes') free.disk += amount(usage?.disk ?? '0');
      free.processes += usage?.processes ?? 0;
      pods.delete(uid);
      lifecycles.set(uid, { state: 'terminated', startedAtMs: 0, atMs: 0, cleaned: true, kill });
      changed.push(uid);
    },
  };
  const logger = textLogger({
    write: (line) => void logged.push(line),
    clock,
    verbosity: new Verbosity(0),
    pid: 1,
  });
  const events = {
    pod: (pod: Pod, event: EventText) => void log.push(`${event.reason} ${pod.metadata?.name}`),
    node: (event: EventText) => void log.push(`${event.reason}: ${event.message}`),
  };
  const counts = {
    evicted: (signal: string) => void metrics.push(signal),
    statsAge: () => undefined,
  };
  const manager = new EvictionManager({
    pods: { all: () => [...pods.values()] },
    load: {
      memory,
      signals: async () => {
        state.reads++;
        if (state.signalsFail) throw new Error('the statistics failed');
        const room = disk();
        return {
          ...memory(),
          nodeFs: state.broken.has('nodeFs') ? undefined : room,
          imageFs: room,
          containerFs: room,
          processes: { atMs: clock.now(), max: 10_000, current: 10_000 - free.processes },
        };
      },
      pods: async ({ only }) => {
        const measured = [...pods.values()]
          .filter((pod) => !state.hidden.has(podUid(pod)) && (only?.has(podUid(pod)) ?? true))
          .map((pod) => [podUid(pod), loadOf(pod)] as const);
        state.onMeasured();
        return new Map(measured);
      },
    },
    reclaim: {
      deleteUnusedImages: async () => {
        log.push('delete images');
        free.disk += state.reclaimable.images;
        return state.reclaimable.images;
      },
      deleteUnusedContainers: async () => {
        log.push('delete containers');
        if (state.reclaimHangs) await new Promise(() => undefined);
        free.disk += state.reclaimable.containers;
      },
    },
    evictor: new PodEvictor({
      kills,
      unfinished: { add: async (uid) => void records.push(uid) },
      lifecycles: { get: (uid) => lifecycles.get(uid), changed },
      containers: {
        deleteEvicted: async (uids) => {
          log.push(`free ${[...uids].map(name).join(', ')}`);
          if (state.freeing === 'hangs') await new Promise(() => undefined);
          if (state.freeing === 'late')
            for (const uid of uids) free.disk += amount(usages.get(uid)?.disk ?? '0');
        },
      },
      events,
      metrics: counts,
      clock,
      log: logger,
    }),
    pressure,
    wakeUps: { memoryShortage, runtimeAnswered, runtimeAnswers: () => state.runtimeAnswers },
    report: new EvictionReport({ events, metrics: counts, log: logger }),
    settings: {
      thresholds,
      transitionMs: 300_000,
      maxPodGraceSeconds: 5,
      memorySource: 'WorkingSet',
      storageLimits: true,
      separateDiskGc: true,
      skipPodLevelResources: false,
      ...settings,
    },
    clock,
  });
  const stop = new AbortController();
  return {
    clock,
    free,
    killed,
    log,
    logged,
    metrics,
    pressure,
    records,
    state,
    memoryShortage,
    runtimeAnswered,
    run: (podName: string, usage: Usage, over: PodOver = {}): PodUid => {
      const pod = aPod({ name: podName, ...over });
      pods.set(podUid(pod), pod);
      usages.set(podUid(pod), usage);
      lifecycles.set(podUid(pod), syncing);
      return podUid(pod);
    },
    start: async () => {
      await startComponent(manager, stop.signal);
      await clock.advance(1);
    },
    remove: (uid: PodUid): void => void pods.delete(uid),
    names: () => [...pods.values()].map((pod) => pod.metadata?.name),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await clock.advance(0);
    },
  };
}

describe('memory pressure', () => {
  test('evicts one pod after the other until memory suffices, and no more', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    env.run('larger', { memory: '3500Mi' });
    env.run('small', { memory: '1Mi' });
    await env.start();
    env.free.memory = amount('-3Gi');
    await env.clock.advance(10_000);
    expect(env.log).toEqual([
      'EvictionThresholdMet: Attempting to reclaim memory',
      'Evicted larger',
      'kill larger in 1 s',
      'EvictionThresholdMet: Attempting to reclaim memory',
      'Evicted large',
      'kill large in 1 s',
    ]);
    expect(env.names()).toEqual(['small']);
    expect(env.metrics).toEqual(['memory.available', 'memory.available']);
    expect(env.records).toHaveLength(2);
  });

  test('notices a crossed threshold within 100 ms once memory is close to it', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    env.free.memory = amount('1025Mi');
    await env.start();
    await env.clock.advance(300);
    env.free.memory = amount('1023Mi');
    expect(env.log).toEqual([]);
    await env.clock.advance(100);
    expect(env.log).toContain('kill large in 1 s');
  });

  test('reads memory rarely while there is plenty of it', async () => {
    await using env = node(hard);
    env.free.memory = amount('64Gi');
    await env.start();
    await env.clock.advance(60_000);
    expect(env.state.reads).toBe(7);
  });

  test('starts a pass when the kernel reports a shortage', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    env.free.memory = amount('64Gi');
    await env.start();
    env.free.memory = amount('1Mi');
    env.memoryShortage.push();
    await env.clock.advance(killMs);
    expect(env.names()).toEqual([]);
  });

  test('reports the condition at once and until the transition period has passed', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    await env.start();
    expect(env.pressure.conditions()).toEqual([]);
    env.free.memory = amount('1Mi');
    await env.clock.advance(10_000);
    expect(env.pressure.conditions()).toEqual(['MemoryPressure']);
    await env.clock.advance(280_000);
    expect(env.pressure.conditions()).toEqual(['MemoryPressure']);
    await env.clock.advance(20_001);
    expect(env.pressure.conditions()).toEqual([]);
  });

  const requests = { resources: { requests: { memory: '10Gi' } } };
  for (const [skipPodLevelResources, victim] of [
    [false, 'none'],
    [true, 'requesting'],
  ] as const)
    test(`pod-level requests ${skipPodLevelResources ? 'are ignored without' : 'count with'} their gate`, async () => {
      await using env = node(hard, { skipPodLevelResources });
      env.run('requesting', { memory: '3Gi' }, requests);
      env.run('none', { memory: '2Gi' });
      env.free.memory = amount('1Mi');
      await env.start();
      await env.clock.advance(killMs);
      expect(env.log[1]).toBe(`Evicted ${victim}`);
    });

  test('is measured by MemAvailable if that is the source', async () => {
    await using env = node(hard, { memorySource: 'MemAvailable' });
    env.run('large', { memory: '3Gi' });
    env.free.memory = amount('1Mi');
    await env.start();
    await env.clock.advance(20_000);
    expect([env.names(), env.pressure.conditions()]).toEqual([['large'], []]);
  });
});

describe('soft thresholds', () => {
  const soft = [aThreshold('memory.available', '1Gi', { graceMs: 90_000 })];

  test('evict after their grace period, with the shorter of both grace periods of the pod', async () => {
    await using env = node(soft);
    env.run('slow', { memory: '3Gi' }, { terminationGracePeriodSeconds: 30 });
    env.free.memory = amount('1Mi');
    await env.start();
    expect(env.pressure.conditions()).toEqual(['MemoryPressure']);
    await env.clock.advance(89_998);
    expect(env.log).toEqual([]);
    await env.clock.advance(2);
    expect(env.log.at(-1)).toBe('kill slow in 5 s');
  });

  test('evict nothing if memory recovers in time', async () => {
    await using env = node(soft);
    env.run('slow', { memory: '3Gi' });
    env.free.memory = amount('1Mi');
    await env.start();
    await env.clock.advance(60_000);
    env.free.memory = amount('2Gi');
    await env.clock.advance(60_000);
    env.free.memory = amount('1Mi');
    await env.clock.advance(80_000);
    expect(env.names()).toEqual(['slow']);
  });

  test('are not affected by a step of the wall clock', async () => {
    await using env = node(soft);
    env.run('slow', { memory: '3Gi' });
    env.free.memory = amount('1Mi');
    await env.start();
    env.clock.stepWall(-3_600_000);
    await env.clock.advance(80_000);
    env.clock.stepWall(7_200_000);
    await env.clock.advance(9_999);
    expect(env.names()).toEqual(['slow']);
    env.clock.stepWall(-86_400_000);
    await env.clock.advance(10_001);
    expect(env.names()).toEqual([]);
  });
});

describe('disk pressure', () => {
  const disk = [aThreshold('nodefs.available', '10Gi', { reclaim: '5Gi' })];

  test('deletes unused containers and images first, and evicts nothing if that is enough', async () => {
    await using env = node(disk);
    env.run('writer', { disk: '20Gi' });
    env.state.reclaimable.images = amount('20Gi');
    env.free.disk = amount('1Gi');
    await env.start();
    expect(env.log).toEqual([
      'EvictionThresholdMet: Attempting to reclaim ephemeral-storage',
      'delete containers',
      'delete images',
    ]);
    expect(env.pressure.conditions()).toEqual(['DiskPressure']);
  });

  test('evicts if the minimum reclaim is not reached', async () => {
    await using env = node(disk);
    env.run('writer', { disk: '20Gi' });
    env.state.reclaimable.images = amount('10Gi');
    env.free.disk = amount('1Gi');
    await env.start();
    await env.clock.advance(killMs);
    expect(env.names()).toEqual([]);
    expect(env.metrics).toEqual(['nodefs.available']);
  });

  test('a reclaim that hangs ends as soon as memory runs short, too', async () => {
    await using env = node([...disk, ...hard]);
    env.run('writer', { memory: '3Gi', disk: '20Gi' });
    env.state.reclaimHangs = true;
    env.free.disk = amount('1Gi');
    env.free.memory = amount('1025Mi');
    await env.start();
    await env.clock.advance(5_000);
    expect(env.log.at(-1)).toBe('delete containers');
    env.free.memory = amount('1023Mi');
    await env.clock.advance(200);
    expect([env.names(), env.metrics]).toEqual([[], ['memory.available']]);
  });

  test('frees the layers and logs of the evicted pod before it measures again, so that no other pod goes', async () => {
    await using env = node(disk);
    env.state.freeing = 'late';
    env.run('writer', { disk: '20Gi' });
    env.run('small', { disk: '1Gi' });
    env.free.disk = amount('1Gi');
    await env.start();
    await env.clock.advance(60_000);
    expect(env.names()).toEqual(['small']);
    expect(env.log.slice(-2)).toEqual(['kill writer in 1 s', expect.stringMatching(/^free /)]);
  });

  test('layers and logs that cannot be removed delay the next eviction by 10 s', async () => {
    await using env = node(disk);
    env.state.freeing = 'hangs';
    env.run('writer', { disk: '20Gi' });
    env.run('small', { disk: '1Gi' });
    env.free.disk = amount('1Gi');
    await env.start();
    await env.clock.advance(killMs + 9_990);
    expect(env.names()).toEqual(['small']);
    await env.clock.advance(killMs + 20);
    expect(env.names()).toEqual([]);
  });

  test('a file system that cannot be measured neither evicts nor hides memory pressure', async () => {
    await using env = node([...disk, ...hard]);
    env.run('large', { memory: '3Gi', disk: '20Gi' });
    env.run('writer', { disk: '30Gi' });
    env.state.broken.add('nodeFs');
    env.free.disk = 0;
    env.free.memory = 0;
    await env.start();
    await env.clock.advance(20_000);
    expect(env.names()).toEqual(['writer']);
  });
});

test('process exhaustion evicts the pod with most processes among the lowest priority', async () => {
  await using env = node([aThreshold('pid.available', '100')]);
  env.run('fork-bomb', { processes: 5_000 });
  env.run('few', { processes: 3 });
  env.run('important', { processes: 9_000 }, { priority: 1_000 });
  env.free.processes = 10;
  await env.start();
  await env.clock.advance(killMs);
  expect([env.names(), env.metrics]).toEqual([['few', 'important'], ['pid.available']]);
});

describe('storage limits', () => {
  const limited = { volumes: [{ name: 'cache', emptyDir: { sizeLimit: '1Gi' } }] };

  test('evict every pod above its limit, without pressure on the node', async () => {
    await using env = node([]);
    env.run('a', { disk: '2Gi' }, limited);
    env.run('b', { disk: '3Gi' }, limited);
    env.run('fits', { disk: '1Gi' }, limited);
    env.run('unlimited', { disk: '9Gi' });
    await env.start();
    await env.clock.advance(killMs);
    expect([env.names(), env.metrics, env.pressure.conditions()]).toEqual([
      ['fits', 'unlimited'],
      ['emptydirfs.limit', 'emptydirfs.limit'],
      [],
    ]);
    expect([...env.killed.values()].map(({ condition, graceSeconds }) => [condition, graceSeconds])).toEqual([
      [undefined, 1],
      [undefined, 1],
    ]);
    expect(env.log.filter((line) => line.startsWith('free '))).toHaveLength(1);
  });

  test('evict no pod that is gone after the measurement', async () => {
    await using env = node([]);
    const gone = env.run('gone', { disk: '2Gi' }, limited);
    env.run('stays', { disk: '2Gi' }, limited);
    env.state.onMeasured = () => env.remove(gone);
    await env.start();
    await env.clock.advance(killMs);
    expect([env.log, env.records.length]).toEqual([
      ['Evicted stays', 'kill stays in 1 s', 'free uid-stays'],
      1,
    ]);
  });

  test('are not enforced without local storage isolation', async () => {
    await using env = node([], { storageLimits: false });
    env.run('a', { disk: '2Gi' }, limited);
    await env.start();
    await env.clock.advance(60_000);
    expect([env.names(), env.state.reads]).toEqual([['a'], 0]);
  });
});

describe('a hard threshold of memory that is crossed meanwhile', () => {
  const soft = aThreshold('memory.available', '2Gi', { graceMs: 1_000 });

  test('shortens the grace period of the pod that is being evicted', async () => {
    await using env = node([...hard, soft], { maxPodGraceSeconds: 600 });
    env.run('slow', { memory: '3Gi' }, { terminationGracePeriodSeconds: 600 });
    env.free.memory = amount('1500Mi');
    env.state.killsHang = true;
    await env.start();
    await env.clock.advance(2_000);
    env.free.memory = amount('1Mi');
    await env.clock.advance(1_000);
    expect(env.log.filter((each) => each.startsWith('kill '))).toEqual([
      'kill slow in 600 s',
      'kill slow in 1 s',
    ]);
  });

  test('does not wait for a pod that is evicted for another resource', async () => {
    await using env = node([...hard, aThreshold('nodefs.available', '10Gi')]);
    env.run('writer', { disk: '20Gi' });
    env.run('large', { memory: '3Gi' });
    env.free.memory = amount('1100Mi');
    env.free.disk = amount('1Gi');
    env.state.killsHang = true;
    await env.start();
    env.state.killsHang = false;
    env.free.memory = amount('1Mi');
    await env.clock.advance(1_000);
    expect(env.log).toContain('kill large in 1 s');
    expect(env.log).not.toContain('ExceededGracePeriod writer');
  });
});

describe('faults', () => {
  test('no pod is chosen while the runtime does not answer, and one as soon as it does', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    env.state.runtimeAnswers = false;
    env.free.memory = 0;
    await env.start();
    await env.clock.advance(60_000);
    expect([env.names(), env.pressure.conditions()]).toEqual([['large'], ['MemoryPressure']]);
    env.state.runtimeAnswers = true;
    env.runtimeAnswered.push();
    await env.clock.advance(killMs);
    expect(env.names()).toEqual([]);
  });

  test('a pod that cannot be terminated is reported, and the next one is evicted', async () => {
    await using env = node(hard);
    const stuck = env.run('stuck', { memory: '3Gi' });
    env.run('other', { memory: '2Gi' });
    env.free.memory = 0;
    env.state.killsHang = true;
    await env.start();
    await env.clock.advance(10_001);
    expect(env.log.slice(-3)).toEqual(['Evicted stuck', 'kill stuck in 1 s', 'ExceededGracePeriod stuck']);
    env.state.killsHang = false;
    await env.clock.advance(30_000 + killMs);
    expect(env.killed.get(stuck)?.reason).toBe('Evicted');
    expect(env.log.filter((each) => each === 'Evicted stuck')).toHaveLength(1);
    expect(env.names()).toEqual(['stuck']);
  });

  test('a pod without statistics goes first, as upstream', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    env.state.hidden.add(env.run('unknown', { memory: '2Gi' }));
    env.free.memory = 0;
    await env.start();
    await env.clock.advance(killMs);
    expect(env.log).toContain('Evicted unknown');
    expect(env.names()).toEqual(['large']);
  });

  test('failing statistics evict nothing, and the next pass evicts', async () => {
    await using env = node(hard);
    env.run('large', { memory: '3Gi' });
    env.free.memory = 0;
    env.state.signalsFail = true;
    await env.start();
    await env.clock.advance(30_000);
    expect(env.names()).toEqual(['large']);
    env.state.signalsFail = false;
    await env.clock.advance(10_000 + killMs);
    expect(env.names()).toEqual([]);
  });

  test('critical pods are never evicted, and the node keeps its condition', async () => {
    await using env = node(hard);
    env.run('critical', { memory: '3Gi' }, { priority: 2_000_000_000 });
    env.run('static', { memory: '3Gi' }, { annotations: { 'kubernetes.io/config.source': 'file' } });
    env.free.memory = 0;
    await env.start();
    await env.clock.advance(60_000);
    expect([env.names(), env.metrics]).toEqual([['critical', 'static'], []]);
    expect(env.pressure.conditions()).toEqual(['MemoryPressure']);
    expect(env.state.reads).toBeLessThan(15);
  });

  test('pressure that nothing relieves is logged once, and again after it has ended', async () => {
    await using env = node(hard);
    env.free.memory = amount('1Mi');
    await env.start();
    await env.clock.advance(60_000);
    const failures = () => env.logged.filter((line) => line.includes('Failed to find a pod to evict')).length;
    expect(failures()).toBe(1);
    env.free.memory = amount('4Gi');
    await env.clock.advance(20_000);
    env.free.memory = amount('1Mi');
    await env.clock.advance(20_000);
    expect(failures()).toBe(2);
  });

  test('50 pods under pressure go in the order of the decider, one at a time', async () => {
    await using env = node(hard);
    for (let i = 0; i < 50; i++) env.run(`p${i}`, { memory: `${100 + i}Mi` }, { priority: i % 5 });
    env.free.memory = amount('-2Gi');
    await env.start();
    await env.clock.advance(60_000);
    const evicted = env.log.filter((each) => each.startsWith('kill ')).map((each) => each.split(' ')[1]);
    const byPriority = Array.from({ length: 10 }, (_, i) => `p${45 - i * 5}`);
    const next = Array.from({ length: 10 }, (_, i) => `p${46 - i * 5}`);
    const expected = [...byPriority, ...next, 'p47', 'p42', 'p37', 'p32', 'p27', 'p22', 'p17'];
    expect(evicted).toEqual(expected.slice(0, evicted.length));
    expect(evicted.length).toBeGreaterThan(20);
    expect(env.free.memory).toBeGreaterThanOrEqual(amount('1Gi'));
  });
});
