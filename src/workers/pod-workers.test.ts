// What a worker does when the runtime or an inspection fails; whole pod lifecycles are tested in test/suites/node.
import { expect, test } from 'vitest';
import { anObservedPod, aPod, aSandbox, exited } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { EventText } from '../api/ports/events.ts';
import type { GarbageScope } from '../api/ports/garbage-scope.ts';
import { noProbeResults } from '../api/ports/probe-results.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { PodKills } from './pod-kills.ts';
import { PodLifecycles } from './pod-lifecycles.ts';
import { PodWorkers } from './pod-workers.ts';
import { PodsInSync } from './pods-in-sync.ts';
import type { DesiredPod } from './worker-deps.ts';

const uid = asPodUid('uid-p');
const down = anObservedPod({ sandboxes: [aSandbox({ ready: false })], containers: [exited(0)] });

class Scene {
  readonly clock = new FakeClock();
  readonly lifecycles = new PodLifecycles();
  readonly kills = new PodKills();
  readonly done: string[] = [];
  readonly events: EventText[] = [];
  readonly rejections: string[] = [];
  readonly desired = new Map<PodUid, DesiredPod>();
  readonly observed = new Map<PodUid, ObservedPod>();
  readonly changed = new Channel<PodUid>();
  readonly inspected = new Channel<PodUid>();
  isRefused = false;
  /** The runtime refuses to remove exited containers. */
  refusesRemoval = false;
  isInspected = true;
  failingInspections = 0;
  /** The results of the next inspections; the last one stays. */
  inspections: (ObservedPod | undefined)[] = [];
  failingSyncs = 0;
  createsSandbox = false;
  retryInMs: number | undefined;
  failure: unknown;
  waiting: Awaited<ReturnType<Deps['sync']>>['waiting'] = {};
  admit: (pod: Pod, signal: AbortSignal) => Promise<{ reason: string; message: string } | undefined> =
    async () => undefined;
  waitsFor: (pod: Pod) => { reason: string; message: string; untilMs: number } | undefined = () => undefined;
  prepare: (pod: Pod, signal: AbortSignal) => Promise<{ reason: string; message: string } | undefined> =
    async () => undefined;
  readonly devicesChanged = new Channel<PodUid>();
  garbage: readonly PodUid[] = [];
  collect: (seen: ObservedPod, scope: GarbageScope) => Promise<boolean> = async () => false;
  workers: PodWorkers | undefined;
  readonly #stop = new AbortController();

  async start(): Promise<void> {
    this.workers = new PodWorkers({
      stores: {
        desired: {
          get: (each) => this.desired.get(each),
          all: () => [...this.desired.values()],
          sourcesReady: () => true,
          changed: this.changed,
          ready: new Channel<void>(),
        },
        apiPods: { get: () => undefined },
        observed: {
          get: (each) => this.observed.get(each),
          all: () => this.observed,
          changed: this.inspected,
        },
        lifecycles: this.lifecycles,
        kills: this.kills,
        inSync: new PodsInSync(),
        probes: noProbeResults,
        unfinishedHooks: { changed: new Channel<PodUid>() },
        volumes: { wake: new Channel<PodUid>() },
        devices: { wake: this.devicesChanged },
      },
      pleg: {
        isInspected: () => this.isInspected,
        refresh: async (each) => await this.#inspect(each),
        answered: new Channel<void>(),
      },
      runtime: {
        sync: async ({ onSandboxReady, pod, seen }) => {
          if (this.createsSandbox) onSandboxReady();
          return await this.#sync(pod, seen);
        },
        stopPod: async (_pod, _seen, _grace, why) => void this.done.push(`stop: ${why}`),
        cleanPod: async () => undefined,
        podsWithGarbage: () => this.garbage,
        collectGarbage: async (seen, scopeOf) => await this.collect(seen, scopeOf(seen)),
        removePod: async (pod) => {
          this.done.push(`remove ${pod.namespace}/${pod.name}`);
          return !this.refusesRemoval;
        },
        isPodTerminal: () => false,
      },
      policy: {
        refusePod: () => (this.isRefused ? { reason: 'R', message: 'm' } : undefined),
        admit: async (pod, signal) => await this.admit(pod, signal),
        waitsFor: (pod) => this.waitsFor(pod),
        prepare: async (pod, signal) => await this.prepare(pod, signal),
      },
      report: {
        events: { pod: (_pod, event) => void this.events.push(event), node: () => undefined },
        metrics: {
          step: () => undefined,
          orphan: () => undefined,
          restarted: () => undefined,
          rejected: (reason) => void this.rejections.push(reason),
        },
        log: silentLogger,
      },
      settings: { syncFrequencyMs: 60_000 },
      clock: this.clock,
    });
    await startComponent(this.workers, this.#stop.signal);
    await this.clock.advance(0);
  }

  async add(pod: Pod, order = 1): Promise<void> {
    this.desired.set(podUid(pod), { uid: podUid(pod), pod, order });
    this.changed.push(podUid(pod));
    await this.clock.advance(0);
  }

  async remove(): Promise<void> {
    this.desired.delete(uid);
    this.changed.push(uid);
    await this.clock.advance(0);
  }

  async #inspect(each: PodUid): Promise<ObservedPod | undefined> {
    this.done.push('inspect');
    if (this.failingInspections-- > 0) throw new KubeletError('timeout', 'DeadlineExceeded', 'no answer');
    const next = this.inspections.length > 1 ? this.inspections.shift() : this.inspections[0];
    if (next === undefined) this.observed.delete(each);
    else this.observed.set(each, next);
    return next;
  }

  async #sync(_pod: Pod, seen: ObservedPod | undefined): ReturnType<Deps['sync']> {
    this.done.push(seen === undefined ? 'sync new pod' : 'sync existing pod');
    if (this.failingSyncs-- > 0) throw new KubeletError('internal', 'X', 'no room');
    return { acted: true, waiting: this.waiting, retryInMs: this.retryInMs, failure: this.failure };
  }
}
type Deps = ConstructorParameters<typeof PodWorkers>[0]['runtime'];

test('repeats a failed inspection before it acts on the runtime again', async () => {
  const it = new Scene();
  it.failingInspections = 2;
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  expect(it.done.splice(0)).toEqual(['sync new pod', 'inspect']);
  await it.clock.advance(500);
  expect(it.done.splice(0)).toEqual(['inspect']);
  await it.clock.advance(1_000);
  expect(it.done).toEqual(['inspect', 'sync existing pod', 'inspect']);
});

test('reports the sandbox that a sync has created until an inspection has seen it', async () => {
  const it = new Scene();
  it.createsSandbox = true;
  it.failingInspections = 1;
  it.inspections = [anObservedPod()];
  const isReady = (): boolean => {
    const published = it.lifecycles.get(uid);
    return published?.state === 'syncing' && published.sandboxReady === true;
  };
  const reported: string[] = [];
  it.lifecycles.changed.subscribe(() => reported.push(`${isReady()} after ${it.done.join(', ')}`));
  await it.start();
  await it.add(aPod());
  expect(reported).toContain('true after ');
  expect(isReady()).toBe(true);
  it.createsSandbox = false;
  await it.clock.advance(500);
  expect(isReady()).toBe(false);
});

test('syncs when the shortest back-off ends, even if another container fails', async () => {
  const it = new Scene();
  it.inspections = [anObservedPod()];
  it.failure = new KubeletError('internal', 'CreateContainerConfigError', 'no such secret');
  await it.start();
  await it.add(aPod());
  // The retries of the failure are 8 s apart by now.
  await it.clock.advance(8_000);
  it.done.splice(0);
  it.retryInMs = 3_000;
  it.workers?.poke(uid);
  await it.clock.advance(0);
  expect(it.done.splice(0)).toEqual(['sync existing pod', 'inspect']);
  await it.clock.advance(2_999);
  expect(it.done).toEqual([]);
  await it.clock.advance(1);
  expect(it.done).toEqual(['sync existing pod', 'inspect']);
});

test('publishes waiting reasons after the inspection, even if that fails', async () => {
  const it = new Scene();
  it.waiting = { c: { reason: 'CreateContainerError', message: 'no room' } };
  it.failingInspections = 1;
  it.inspections = [anObservedPod()];
  const order: string[] = [];
  it.lifecycles.changed.subscribe((each) => {
    const published = it.lifecycles.get(each);
    const isPublished = published?.state === 'syncing' && published.waiting['c'] !== undefined;
    if (isPublished && order.length === 0) order.push(...it.done);
  });
  await it.start();
  await it.add(aPod());
  expect(order).toEqual(['sync new pod', 'inspect']);
  expect(it.lifecycles.get(uid)).toMatchObject({ waiting: it.waiting });
});

test('inspects the pod after a failed sync, and again if that inspection failed', async () => {
  const it = new Scene();
  it.failingSyncs = 1;
  it.failingInspections = 1;
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  expect(it.done.splice(0)).toEqual(['sync new pod', 'inspect']);
  await it.clock.advance(500);
  expect(it.done).toEqual(['inspect', 'sync existing pod', 'inspect']);
});

test('retries with back-off when the runtime stops nothing, and removes nothing', async () => {
  const it = new Scene();
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  it.done.splice(0);
  await it.remove();
  await it.clock.advance(10_000);
  expect(it.done.filter((each) => each.startsWith('stop'))).toHaveLength(5);
  expect(it.done.filter((each) => each.startsWith('remove'))).toEqual([]);
  expect(it.lifecycles.get(uid)).toMatchObject({ state: 'terminating', sinceMs: it.clock.now() - 10_000 });
  it.inspections = [down, undefined];
  await it.clock.advance(10_000);
  expect(it.done.at(-2)).toBe('remove default/p');
  expect(it.lifecycles.all().size).toBe(0);
});

/** A removed pod with an exited container that the runtime refuses to remove. */
async function unremovablePod(): Promise<Scene> {
  const it = new Scene();
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  it.inspections = [down];
  it.refusesRemoval = true;
  await it.remove();
  return it;
}

test('retries a refused removal later, and does not block a pod of the same name', async () => {
  const it = await unremovablePod();
  expect(it.done.splice(0).slice(-2)).toEqual(['remove default/p', 'inspect']);
  await it.add(aPod({ uid: 'uid-next', name: 'p' }));
  expect(it.done.splice(0)).toEqual(['sync new pod', 'inspect']);
  await it.clock.advance(59_000);
  expect(it.done.filter((each) => each.startsWith('remove'))).toEqual([]);
  it.refusesRemoval = false;
  it.inspections = [undefined];
  await it.clock.advance(1_000);
  expect(it.done).toContain('remove default/p');
  expect([...it.lifecycles.all().keys()]).toEqual(['uid-next']);
});

test('starts a pod that is added again although a container of it cannot be removed', async () => {
  const it = await unremovablePod();
  it.done.splice(0);
  it.inspections = [anObservedPod()];
  await it.add(aPod());
  expect(it.done).toContain('sync existing pod');
  expect(it.lifecycles.get(uid)?.state).toBe('syncing');
});

test('stops a running pod that is refused after an edit, once', async () => {
  const it = new Scene();
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  it.isRefused = true;
  it.inspections = [down];
  it.done.splice(0);
  await it.add(aPod({ hostname: 'h' }));
  expect(it.done).toEqual(['stop: the pod was rejected', 'inspect']);
  expect(it.lifecycles.get(uid)).toMatchObject({ state: 'rejected', reason: 'R', message: 'm' });
  await it.add(aPod({ hostname: 'h2' }));
  expect(it.done).toHaveLength(2);
  expect([it.events, it.rejections]).toEqual([[{ type: 'Warning', reason: 'R', message: 'm' }], ['R']]);
});

test('checks a waiting pod again after syncFrequency without a wake-up', async () => {
  const it = new Scene();
  it.isInspected = false;
  await it.start();
  await it.add(aPod());
  expect(it.lifecycles.get(uid)).toMatchObject({
    explain: 'waiting for the first inspection of the pod on the runtime',
  });
  it.isInspected = true;
  await it.clock.advance(60_000);
  expect(it.done[0]).toBe('sync new pod');
});

test('rejects a pod that is not admitted, and does not admit it again', async () => {
  const it = new Scene();
  let admissions = 0;
  it.admit = async () => {
    admissions += 1;
    return { reason: 'OutOfcpu', message: 'no room' };
  };
  await it.start();
  await it.add(aPod());
  await it.add(aPod({ hostname: 'h' }));
  await it.clock.advance(120_000);
  expect([admissions, it.done]).toEqual([1, []]);
  expect(it.lifecycles.get(uid)).toMatchObject({ state: 'rejected', reason: 'OutOfcpu' });
  expect([it.events, it.rejections]).toEqual([
    [{ type: 'Warning', reason: 'OutOfcpu', message: 'no room' }],
    ['OutOfcpu'],
  ]);
  await it.remove();
  expect(it.lifecycles.get(uid)).toBeUndefined();
});

test('admits pods one at a time, in the order of their arrival', async () => {
  const it = new Scene();
  const log: string[] = [];
  it.admit = async (pod) => {
    log.push(`${pod.metadata?.name} begins`);
    await it.clock.sleep(1_000);
    log.push(`${pod.metadata?.name} ends`);
    return undefined;
  };
  await it.start();
  for (const [index, name] of ['a', 'b', 'c'].entries()) await it.add(aPod({ name }), index);
  await it.clock.advance(5_000);
  expect(log).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test('kills a pod that waits for admission, even from the admission of another pod', async () => {
  const it = new Scene();
  it.admit = async (pod) => {
    if (pod.metadata?.name !== 'first') return undefined;
    await it.clock.sleep(1_000);
    await it.kills.kill(asPodUid('uid-second'), { reason: 'Preempting', message: 'p' });
    return undefined;
  };
  await it.start();
  await it.add(aPod({ name: 'first' }), 1);
  await it.add(aPod({ name: 'second' }), 2);
  await it.clock.advance(3_000);
  expect(it.done[0]).toBe('sync new pod');
  expect(it.lifecycles.get(asPodUid('uid-second'))).toMatchObject({
    state: 'terminated',
    cleaned: true,
    kill: { reason: 'Preempting' },
  });
});

test('a requested collection does not depend on the sync, and fails alone', async () => {
  const scene = new Scene();
  scene.inspections = [down];
  scene.failure = new KubeletError('internal', 'X', 'the sync fails');
  await scene.start();
  await scene.add(aPod());
  scene.garbage = [uid];
  const collected: boolean[] = [];
  scene.collect = async (_seen, { all }) => {
    collected.push(all);
    return true;
  };
  await scene.workers?.collectGarbage('pass').get(uid);
  expect(collected).toEqual([false]);
  scene.collect = async () => {
    throw new KubeletError('internal', 'X', 'cannot remove it');
  };
  const failed = scene.workers?.collectGarbage('pressure').get(uid);
  await expect(failed).rejects.toThrow('cannot remove it');
  scene.isInspected = false;
  expect(scene.workers?.collectGarbage('pass').size).toBe(0);
});

test('reports what a pod is waiting for before it is admitted, and admits it when that is over', async () => {
  const it = new Scene();
  const wait = { reason: 'WaitingForDevicePlugin', message: 'no plugin', untilMs: it.clock.now() + 90_000 };
  let isWaiting = true;
  let asked = 0;
  it.waitsFor = () => {
    asked += 1;
    return isWaiting ? wait : undefined;
  };
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  expect(it.done).toEqual([]);
  expect(it.lifecycles.get(uid)).toMatchObject({
    state: 'syncing',
    waiting: { c: wait },
    explain: 'WaitingForDevicePlugin: no plugin',
  });
  const before = asked;
  it.devicesChanged.push(uid);
  await it.clock.advance(0);
  expect([asked - before, it.done]).toEqual([1, []]);
  isWaiting = false;
  it.devicesChanged.push(uid);
  await it.clock.advance(0);
  expect(it.done).toEqual(['sync new pod', 'inspect']);
  expect(it.lifecycles.get(uid)).toMatchObject({ waiting: {} });
});

test('a pod whose devices are being allocated delays no other admission, and is prepared once', async () => {
  const it = new Scene();
  const prepared: string[] = [];
  let answer: (refusal: undefined) => void = () => undefined;
  it.prepare = (pod) => {
    prepared.push(podUid(pod));
    return podUid(pod) === uid ? new Promise((resolve) => (answer = resolve)) : Promise.resolve(undefined);
  };
  it.inspections = [anObservedPod()];
  await it.start();
  await it.add(aPod());
  expect(it.done).toEqual([]);
  await it.add(aPod({ uid: 'u2', name: 'second' }));
  expect(it.done).toEqual(['sync new pod', 'inspect']);
  answer(undefined);
  await it.clock.advance(0);
  expect(it.done).toHaveLength(4);
  it.workers?.poke(uid);
  await it.clock.advance(0);
  expect(prepared).toEqual([uid, 'u2']);
});

test('rejects a pod whose devices cannot be allocated', async () => {
  const it = new Scene();
  it.prepare = async () => ({ reason: 'UnexpectedAdmissionError', message: 'm' });
  await it.start();
  await it.add(aPod());
  expect(it.done).toEqual([]);
  expect(it.lifecycles.get(uid)).toMatchObject({ state: 'rejected', reason: 'UnexpectedAdmissionError' });
});
