import { expect, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  exited,
} from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import { Channel } from '../../base/channel.ts';
import { startComponent } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import { Metrics } from '../../base/metrics.ts';
import type { HintProvider, ResourceHints, TopologyHint } from './hint-provider.ts';
import { NumaNodes } from './numa-nodes.ts';
import { TopologyManager } from './topology-manager.ts';
import { TopologyMetrics } from './topology-metrics.ts';
import type { TopologyPolicy } from './topology-policy.ts';

const uid = asPodUid('uid-p');
const pod = aPod({
  initContainers: [aContainer({ name: 'i' })],
  containers: [aContainer({ name: 'a' }), aContainer({ name: 'b' })],
  ephemeralContainers: [{ name: 'debug' }],
});
const hints = (...lists: readonly (readonly TopologyHint[])[]): ResourceHints =>
  new Map(lists.map((list, at) => [`r${at}`, list]));
const onNode = (node: number, preferred = true): TopologyHint => ({ mask: 1 << node, preferred });
const upPod = anObservedPod({ containers: [anObservedContainer()] });
const downPod = anObservedPod({ containers: [exited(0)], sandboxes: [] });

/** Providers that record their calls. */
class World {
  readonly calls: string[] = [];
  readonly clock = new FakeClock();
  readonly registry = new Metrics();
  readonly observed = new Map<PodUid, ObservedPod>();
  readonly held = new Set<PodUid>();
  containerHints: (provider: string, container: string) => ResourceHints = () => new Map();
  podHints: (provider: string) => ResourceHints = () => new Map();
  allocate: (provider: string, container: string) => void = () => undefined;

  provider(name: string): HintProvider {
    return {
      name,
      containerHints: (_pod, container) => {
        this.calls.push(`${name} hints ${container.name}`);
        return this.containerHints(name, container.name);
      },
      podHints: () => {
        this.calls.push(`${name} hints pod`);
        return this.podHints(name);
      },
      allocate: (_pod, container, { mask, preferred }) => {
        this.calls.push(`${name} allocates ${container.name} ${mask ?? 'any'}${preferred ? '+' : '-'}`);
        this.allocate(name, container.name);
      },
      release: (each) => {
        this.held.delete(each);
        this.calls.push(`${name} releases ${each}`);
      },
      holders: () => [...this.held],
    };
  }

  manager(
    name: TopologyPolicy['name'],
    scope: 'container' | 'pod' = 'container',
    providers: readonly string[] = ['x', 'y'],
  ): TopologyManager {
    return new TopologyManager({
      providers: providers.map((each) => this.provider(each)),
      policy: { name, preferClosest: false },
      scope,
      numa: new NumaNodes([{ id: 0 }, { id: 1 }]),
      observed: this.observed,
      metrics: new TopologyMetrics(this.registry, this.clock),
    });
  }

  /** The samples of counters, without the prefix of the family. */
  counts(): readonly string[] {
    const lines = this.registry.render().split('\n');
    const counters = lines.filter((line) => /^kubelet_\w+_(total|count)\b/.test(line));
    return counters.map((line) =>
      line
        .replace(/^kubelet_(topology_manager_admission_|container_aligned_compute_resources_)/, '')
        .replace(/scope="(\w+)",boundary="numa_node"/, '$1'),
    );
  }
}

test('none: requests no hints and allocates without alignment, init containers first, no ephemeral ones', () => {
  const world = new World();
  const manager = world.manager('none', 'pod');
  expect(manager.admit(pod)).toBeUndefined();
  expect(world.calls).toEqual(
    ['i', 'a', 'b'].flatMap((c) => [`x allocates ${c} any-`, `y allocates ${c} any-`]),
  );
  expect(world.counts()).toEqual(['duration_ms_count 1', 'errors_total 0', 'requests_total 1']);
});

test('none: a failed allocation is not an error of alignment', () => {
  const world = new World();
  world.allocate = () => {
    throw new Error('none left');
  };
  expect(world.manager('none').admit(pod)?.reason).toBe('UnexpectedAdmissionError');
  expect(world.counts()).toContain('errors_total 0');
});

test('scope container: aligns each container, which sees what the one before was allocated', () => {
  const world = new World();
  world.containerHints = (provider, container) => {
    if (provider === 'y') return new Map();
    return container === 'b' ? hints([onNode(1)]) : hints([onNode(0), onNode(1)]);
  };
  const manager = world.manager('restricted');
  expect(manager.admit(pod)).toBeUndefined();
  expect(world.calls).toEqual(
    [
      ['i', '1+'],
      ['a', '1+'],
      ['b', '2+'],
    ].flatMap(([name, hint]) => [
      `x hints ${name}`,
      `y hints ${name}`,
      `x allocates ${name} ${hint}`,
      `y allocates ${name} ${hint}`,
    ]),
  );
});

test('scope pod: merges the hints of the pod once and allocates every container by them', () => {
  const world = new World();
  world.podHints = () => hints([onNode(1)]);
  expect(world.manager('single-numa-node', 'pod').admit(pod)).toBeUndefined();
  expect(world.calls).toEqual([
    'x hints pod',
    'y hints pod',
    ...['i', 'a', 'b'].flatMap((c) => [`x allocates ${c} 2+`, `y allocates ${c} 2+`]),
  ]);
  expect(world.counts()).toEqual([
    'count{pod} 1',
    'duration_ms_count 1',
    'errors_total 0',
    'requests_total 1',
  ]);
});

test('best-effort: admits a pod whose resources are on different nodes', () => {
  const world = new World();
  world.containerHints = (provider) => hints([onNode(provider === 'x' ? 0 : 1)]);
  expect(world.manager('best-effort').admit(pod)).toBeUndefined();
  expect(world.calls).toContain('x allocates a 3-');
});

for (const [policy, scope, failures] of [
  ['restricted', 'container', []],
  ['restricted', 'pod', []],
  ['single-numa-node', 'container', ['count{container} 1', 'failure_count{container} 1']],
  ['single-numa-node', 'pod', ['failure_count{pod} 1']],
] as const)
  test(`${policy}, scope ${scope}: rejects a pod that cannot be aligned, and releases what it was allocated`, () => {
    const world = new World();
    world.podHints = (provider) => hints([onNode(provider === 'x' ? 0 : 1)]);
    world.containerHints = (provider, container) =>
      container === 'i' ? new Map() : world.podHints(provider);
    const manager = world.manager(policy, scope);
    expect(manager.admit(pod)).toEqual({
      reason: 'TopologyAffinityError',
      message: 'Resources cannot be allocated with Topology locality',
    });
    expect(world.calls.slice(-2)).toEqual(['x releases uid-p', 'y releases uid-p']);
    expect(world.counts()).toEqual([
      ...failures,
      'duration_ms_count 1',
      'errors_total 1',
      'requests_total 1',
    ]);
  });

for (const [thrown, rejection] of [
  [
    new KubeletError('conflict', 'SMTAlignmentError', 'SMT Alignment Error: 3 CPUs'),
    { reason: 'SMTAlignmentError', message: 'SMT Alignment Error: 3 CPUs' },
  ],
  [
    new KubeletError('conflict', 'NotEnoughCpus', 'not enough cpus available to satisfy request'),
    {
      reason: 'UnexpectedAdmissionError',
      message: 'Allocate failed due to not enough cpus available to satisfy request, which is unexpected',
    },
  ],
  [
    new RangeError('bug'),
    { reason: 'UnexpectedAdmissionError', message: 'Allocate failed due to bug, which is unexpected' },
  ],
] as const)
  test(`rejects a pod as ${rejection.reason} if a provider throws: ${thrown.message}`, () => {
    const world = new World();
    world.allocate = (provider, container) => {
      if (provider === 'y' && container === 'a') throw thrown;
    };
    expect(world.manager('restricted').admit(pod)).toEqual(rejection);
    expect(world.calls.slice(-3)).toEqual(['y allocates a 3+', 'x releases uid-p', 'y releases uid-p']);
    expect(world.counts()).toContain('errors_total 1');
  });

test('a pod that is rejected while it runs keeps its resources until its containers have stopped', async () => {
  const world = new World();
  world.observed.set(uid, upPod);
  world.allocate = () => {
    throw new Error('none left');
  };
  const manager = world.manager('none', 'container', ['x']);
  const { changed, lifecycles, stop } = await follow(world, manager);
  expect(manager.admit(pod)?.reason).toBe('UnexpectedAdmissionError');
  lifecycles.set(uid, { state: 'rejected' } as PodLifecycle);
  changed.lifecycles.push(uid);
  expect(world.calls).toEqual(['x allocates i any-']);
  world.observed.set(uid, downPod);
  changed.observed.push(uid);
  expect(world.calls).toEqual(['x allocates i any-', 'x releases uid-p']);
  stop();
});

for (const [policy, scope] of [
  ['restricted', 'pod'],
  ['single-numa-node', 'container'],
] as const)
  test(`${policy}: a pod that runs keeps its resources on different nodes, after a change of the policy`, () => {
    const world = new World();
    world.observed.set(uid, upPod);
    world.podHints = (provider) => hints([onNode(provider === 'x' ? 0 : 1)]);
    world.containerHints = world.podHints;
    expect(world.manager(policy, scope).admit(pod)).toBeUndefined();
    expect(world.calls.filter((call) => call.includes('releases'))).toEqual([]);
    expect(world.counts()).not.toContain('errors_total 1');
  });

test('observes whole milliseconds', () => {
  const world = new World();
  const metrics = new TopologyMetrics(world.registry, { monotonic: () => (at += 1.9) });
  let at = 0;
  expect(metrics.admission(() => 'admitted')).toBe('admitted');
  expect(world.registry.render()).toContain('kubelet_topology_manager_admission_duration_ms_sum 1\n');
  expect(world.registry.render()).toContain('duration_ms_bucket{le="819.2"} 1\n');
});

async function follow(world: World, manager: TopologyManager) {
  const changed = {
    desired: new Channel<PodUid>(),
    lifecycles: new Channel<PodUid>(),
    observed: new Channel<PodUid>(),
    ready: new Channel<void>(),
    answered: new Channel<void>(),
  };
  const lifecycles = new Map<PodUid, PodLifecycle>();
  const desired = new Set<PodUid>();
  const state = { ready: false, answered: false };
  const abort = new AbortController();
  const component = manager.follow({
    desired: {
      changed: changed.desired,
      ready: changed.ready,
      sourcesReady: () => state.ready,
      get: (each) => (desired.has(each) ? {} : undefined),
    },
    lifecycles: { changed: changed.lifecycles, get: (each) => lifecycles.get(each) },
    observed: { changed: changed.observed, get: (each) => world.observed.get(each) },
    pleg: { answered: changed.answered, isInspected: () => state.answered },
  });
  await startComponent(component, abort.signal);
  return { changed, desired, lifecycles, state, stop: () => abort.abort() };
}

test('creates the series of alignment at start, unless the policy is none', async () => {
  for (const policy of ['none', 'best-effort'] as const) {
    const world = new World();
    const { stop } = await follow(world, world.manager(policy));
    expect(world.counts().filter((line) => line.includes('{'))).toEqual(
      policy === 'none'
        ? []
        : ['count{container} 0', 'count{pod} 0', 'failure_count{container} 0', 'failure_count{pod} 0'],
    );
    stop();
  }
});

test('releases the resources of a pod when it has terminated, not before', async () => {
  const world = new World();
  world.observed.set(uid, upPod);
  const { changed, lifecycles, stop } = await follow(world, world.manager('none', 'container', ['x']));
  for (const state of ['syncing', 'terminating', 'terminated'] as const) {
    lifecycles.set(uid, { state } as PodLifecycle);
    changed.lifecycles.push(uid);
    expect(world.calls).toEqual(state === 'terminated' ? ['x releases uid-p'] : []);
  }
  stop();
});

test('releases the resources of a pod that its source has added again, once its worker has forgotten it', async () => {
  const world = new World();
  world.observed.set(uid, upPod);
  const manager = world.manager('none', 'container', ['x']);
  const { changed, desired, lifecycles, stop } = await follow(world, manager);
  desired.add(uid);
  lifecycles.set(uid, { state: 'terminating' } as PodLifecycle);
  changed.lifecycles.push(uid);
  world.observed.set(uid, downPod);
  changed.observed.push(uid);
  expect(world.calls).toEqual([]);
  lifecycles.delete(uid);
  changed.lifecycles.push(uid);
  expect(world.calls).toEqual(['x releases uid-p']);
  stop();
});

test('releases what a pod of an earlier process holds although the runtime keeps its exited containers', async () => {
  const world = new World();
  world.held.add(uid);
  world.observed.set(uid, downPod);
  const { changed, state, stop } = await follow(world, world.manager('none', 'container', ['x']));
  state.ready = true;
  state.answered = true;
  changed.answered.push();
  expect(world.calls).toEqual(['x releases uid-p']);
  stop();
});

test('releases what pods of an earlier process hold once no source and no runtime can have them', async () => {
  const world = new World();
  const [wanted, running, gone] = ['wanted', 'running', 'gone'].map(asPodUid) as [PodUid, PodUid, PodUid];
  for (const each of [wanted, running, gone]) world.held.add(each);
  const { changed, desired, state, stop } = await follow(world, world.manager('none', 'container', ['x']));
  desired.add(wanted);
  world.observed.set(running, upPod);
  state.ready = true;
  changed.ready.push();
  expect(world.calls).toEqual([]);
  state.answered = true;
  changed.answered.push();
  expect(world.calls).toEqual(['x releases gone']);
  desired.delete(wanted);
  changed.desired.push(wanted);
  expect(world.calls).toEqual(['x releases gone', 'x releases wanted']);
  world.observed.delete(running);
  changed.observed.push(running);
  expect([...world.held]).toEqual([]);
  stop();
});
