// What a worker does when the runtime or a look at it misbehaves; the pod's whole way is in test/suites/node.
import { expect, test } from 'vitest';
import { anObservedPod, aPod, aSandbox, exited } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { EventText } from '../api/ports/events.ts';
import { noProbeResults } from '../api/ports/probe-results.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { PodLifecycles } from './pod-lifecycles.ts';
import { PodWorkers } from './pod-workers.ts';
import type { WantedPod } from './worker-deps.ts';

const uid = asPodUid('uid-p');
const down = anObservedPod({ sandboxes: [aSandbox({ ready: false })], containers: [exited(0)] });

class Scene {
  readonly clock = new FakeClock();
  readonly lifecycles = new PodLifecycles();
  readonly done: string[] = [];
  readonly told: EventText[] = [];
  readonly rejections: string[] = [];
  readonly wanted = new Map<PodUid, WantedPod>();
  readonly observed = new Map<PodUid, ObservedPod>();
  readonly changed = new Channel<PodUid>();
  readonly seen = new Channel<PodUid>();
  refuses = false;
  /** The runtime does not let go of what has ended. */
  keeps = false;
  looksSeen = true;
  lookFails = 0;
  /** What the next looks see; the last one stays. */
  looks: (ObservedPod | undefined)[] = [];
  syncFails = 0;
  waiting: Awaited<ReturnType<Deps['sync']>>['waiting'] = {};
  admit: (pod: Pod, signal: AbortSignal) => Promise<{ reason: string; message: string } | undefined> =
    async () => undefined;
  workers: PodWorkers | undefined;
  readonly #stop = new AbortController();

  async start(): Promise<void> {
    this.workers = new PodWorkers({
      stores: {
        desired: {
          get: (each) => this.wanted.get(each),
          all: () => [...this.wanted.values()],
          sourcesReady: () => true,
          changed: this.changed,
          ready: new Channel<void>(),
        },
        observed: {
          get: (each) => this.observed.get(each),
          all: () => this.observed,
          changed: this.seen,
        },
        lifecycles: this.lifecycles,
        probes: noProbeResults,
        unfinishedHooks: { changed: new Channel<PodUid>() },
        volumes: { wake: new Channel<PodUid>() },
      },
      pleg: {
        isSeen: () => this.looksSeen,
        refresh: async (each) => await this.#look(each),
        answered: new Channel<void>(),
      },
      runtime: {
        sync: async ({ pod, seen }) => await this.#sync(pod, seen),
        stopPod: async (_pod, _seen, _grace, why) => void this.done.push(`stop: ${why}`),
        cleanPod: async () => undefined,
        collectGarbage: async () => false,
        removePod: async (pod) => {
          this.done.push(`remove ${pod.namespace}/${pod.name}`);
          return !this.keeps;
        },
        hasEndedForGood: () => false,
      },
      policy: {
        refusePod: () => (this.refuses ? { reason: 'R', message: 'm' } : undefined),
        admit: async (pod, signal) => await this.admit(pod, signal),
      },
      report: {
        events: { pod: (_pod, event) => void this.told.push(event), node: () => undefined },
        metrics: {
          step: () => undefined,
          orphan: () => undefined,
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

  async want(pod: Pod, order = 1): Promise<void> {
    this.wanted.set(podUid(pod), { uid: podUid(pod), pod, order });
    this.changed.push(podUid(pod));
    await this.clock.advance(0);
  }

  async drop(): Promise<void> {
    this.wanted.delete(uid);
    this.changed.push(uid);
    await this.clock.advance(0);
  }

  async #look(each: PodUid): Promise<ObservedPod | undefined> {
    this.done.push('look');
    if (this.lookFails-- > 0) throw new KubeletError('timeout', 'DeadlineExceeded', 'no answer');
    const next = this.looks.length > 1 ? this.looks.shift() : this.looks[0];
    if (next === undefined) this.observed.delete(each);
    else this.observed.set(each, next);
    return next;
  }

  async #sync(_pod: Pod, seen: ObservedPod | undefined): ReturnType<Deps['sync']> {
    this.done.push(seen === undefined ? 'sync on nothing' : 'sync on what is there');
    if (this.syncFails-- > 0) throw new KubeletError('internal', 'X', 'no room');
    return { acted: true, waiting: this.waiting, retryInMs: undefined, failure: undefined };
  }
}
type Deps = ConstructorParameters<typeof PodWorkers>[0]['runtime'];

test('a look that failed is made again before anything else is asked of the runtime', async () => {
  const it = new Scene();
  it.lookFails = 2;
  it.looks = [anObservedPod()];
  await it.start();
  await it.want(aPod());
  expect(it.done.splice(0)).toEqual(['sync on nothing', 'look']);
  await it.clock.advance(500);
  expect(it.done.splice(0)).toEqual(['look']);
  await it.clock.advance(1_000);
  expect(it.done).toEqual(['look', 'sync on what is there', 'look']);
});

test('what a container waits for is told after the look, and also when the look fails', async () => {
  const it = new Scene();
  it.waiting = { c: { reason: 'CreateContainerError', message: 'no room' } };
  it.lookFails = 1;
  it.looks = [anObservedPod()];
  const order: string[] = [];
  it.lifecycles.changed.subscribe((each) => {
    const told = it.lifecycles.get(each);
    const isTold = told?.state === 'syncing' && told.waiting['c'] !== undefined;
    if (isTold && order.length === 0) order.push(...it.done);
  });
  await it.start();
  await it.want(aPod());
  expect(order).toEqual(['sync on nothing', 'look']);
  expect(it.lifecycles.get(uid)).toMatchObject({ waiting: it.waiting });
});

test('a pass that failed is looked at, and so is one whose look failed as well', async () => {
  const it = new Scene();
  it.syncFails = 1;
  it.lookFails = 1;
  it.looks = [anObservedPod()];
  await it.start();
  await it.want(aPod());
  expect(it.done.splice(0)).toEqual(['sync on nothing', 'look']);
  await it.clock.advance(500);
  expect(it.done).toEqual(['look', 'sync on what is there', 'look']);
});

test('a runtime that stops nothing is asked again with pauses, and nothing is removed', async () => {
  const it = new Scene();
  it.looks = [anObservedPod()];
  await it.start();
  await it.want(aPod());
  it.done.splice(0);
  await it.drop();
  await it.clock.advance(10_000);
  expect(it.done.filter((each) => each.startsWith('stop'))).toHaveLength(5);
  expect(it.done.filter((each) => each.startsWith('remove'))).toEqual([]);
  const told = it.lifecycles.get(uid);
  expect(told).toMatchObject({ state: 'terminating', sinceMs: it.clock.now() - 10_000 });
  it.looks = [down, undefined];
  await it.clock.advance(10_000);
  expect(it.done.at(-2)).toBe('remove default/p');
  expect(it.lifecycles.all().size).toBe(0);
});

/** A pod that was removed, but for what the runtime does not let go of. */
async function keptPod(): Promise<Scene> {
  const it = new Scene();
  it.looks = [anObservedPod()];
  await it.start();
  await it.want(aPod());
  it.looks = [down];
  it.keeps = true;
  await it.drop();
  return it;
}

test('what the runtime keeps is asked for again later, and one of its name does not wait for it', async () => {
  const it = await keptPod();
  expect(it.done.splice(0).slice(-2)).toEqual(['remove default/p', 'look']);
  await it.want(aPod({ uid: 'uid-next', name: 'p' }));
  expect(it.done.splice(0)).toEqual(['sync on nothing', 'look']);
  await it.clock.advance(59_000);
  expect(it.done.filter((each) => each.startsWith('remove'))).toEqual([]);
  it.keeps = false;
  it.looks = [undefined];
  await it.clock.advance(1_000);
  expect(it.done).toContain('remove default/p');
  expect([...it.lifecycles.all().keys()]).toEqual(['uid-next']);
});

test('a pod that comes back does not wait for what the runtime keeps of it', async () => {
  const it = await keptPod();
  it.done.splice(0);
  it.looks = [anObservedPod()];
  await it.want(aPod());
  expect(it.done).toContain('sync on what is there');
  expect(it.lifecycles.get(uid)?.state).toBe('syncing');
});

test('what runs is stopped when the pod is refused under its UID, once', async () => {
  const it = new Scene();
  it.looks = [anObservedPod()];
  await it.start();
  await it.want(aPod());
  it.refuses = true;
  it.looks = [down];
  it.done.splice(0);
  await it.want(aPod({ hostname: 'h' }));
  expect(it.done).toEqual(['stop: the pod was rejected', 'look']);
  expect(it.lifecycles.get(uid)).toMatchObject({ state: 'rejected', reason: 'R', message: 'm' });
  await it.want(aPod({ hostname: 'h2' }));
  expect(it.done).toHaveLength(2);
  expect([it.told, it.rejections]).toEqual([[{ type: 'Warning', reason: 'R', message: 'm' }], ['R']]);
});

test('whoever waits looks again after the sync frequency even if nobody wakes it', async () => {
  const it = new Scene();
  it.looksSeen = false;
  await it.start();
  await it.want(aPod());
  expect(it.lifecycles.get(uid)).toMatchObject({
    explain: 'waiting for the container runtime to say what runs',
  });
  it.looksSeen = true;
  await it.clock.advance(60_000);
  expect(it.done[0]).toBe('sync on nothing');
});

test('a pod that is not admitted is rejected for good, and not asked for again', async () => {
  const it = new Scene();
  let asked = 0;
  it.admit = async () => {
    asked += 1;
    return { reason: 'OutOfcpu', message: 'no room' };
  };
  await it.start();
  await it.want(aPod());
  await it.want(aPod({ hostname: 'h' }));
  await it.clock.advance(120_000);
  expect([asked, it.done]).toEqual([1, []]);
  expect(it.lifecycles.get(uid)).toMatchObject({ state: 'rejected', reason: 'OutOfcpu' });
  expect([it.told, it.rejections]).toEqual([
    [{ type: 'Warning', reason: 'OutOfcpu', message: 'no room' }],
    ['OutOfcpu'],
  ]);
  await it.drop();
  expect(it.lifecycles.get(uid)).toBeUndefined();
});

test('admits pods one at a time, in the order of their arrival', async () => {
  const it = new Scene();
  const saw: string[] = [];
  it.admit = async (pod) => {
    saw.push(`${pod.metadata?.name} begins`);
    await it.clock.sleep(1_000);
    saw.push(`${pod.metadata?.name} ends`);
    return undefined;
  };
  await it.start();
  for (const [index, name] of ['a', 'b', 'c'].entries()) await it.want(aPod({ name }), index);
  await it.clock.advance(5_000);
  expect(saw).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test('one that waits to be admitted can be ended, even by the one that is being admitted', async () => {
  const it = new Scene();
  it.admit = async (pod) => {
    if (pod.metadata?.name !== 'first') return undefined;
    await it.clock.sleep(1_000);
    await it.workers?.kill(asPodUid('uid-second'), { reason: 'Preempting', message: 'p' });
    return undefined;
  };
  await it.start();
  await it.want(aPod({ name: 'first' }), 1);
  await it.want(aPod({ name: 'second' }), 2);
  await it.clock.advance(3_000);
  expect(it.done[0]).toBe('sync on nothing');
  expect(it.lifecycles.get(asPodUid('uid-second'))).toMatchObject({
    state: 'terminated',
    cleaned: true,
    kill: { reason: 'Preempting' },
  });
});
