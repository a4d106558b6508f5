import { expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { findInfeasibility, increasesRequests, isResized, type ResizeRules } from './decide-resize.ts';
import { orderPending, type PendingResize } from './pending-order.ts';
import { requestedResizes } from './requested-resizes.ts';

const rules: ResizeRules = {
  cpusArePinned: false,
  memoryIsPinned: false,
  podLevelResources: true,
  podLevelResizes: true,
  maySwap: () => false,
};

/** `1/2 1Gi/2Gi`: request and limit of CPU, then of memory. */
function pod(amounts: string, over: PodOver = {}, container: Partial<Container> = {}): Pod {
  const [[cpu = '', cpuLimit = ''] = [], [memory = '', memoryLimit = ''] = []] = amounts
    .split(' ')
    .map((each) => each.split('/'));
  const resources = { requests: { cpu, memory }, limits: { cpu: cpuLimit, memory: memoryLimit } };
  return aPod({ containers: [aContainer({ resources, ...container })], ...over });
}

const guaranteed = pod('1/1 1Gi/1Gi');
const staticPod = { annotations: { 'kubernetes.io/config.source': 'file' } };
const restart = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
const noCpuPins = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"';
const noMemoryPins = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"';
const noSwap = 'In-place resize of containers with swap is not supported.';

const cases: readonly (readonly [
  name: string,
  requested: Pod,
  allocated: Pod,
  over: Partial<ResizeRules>,
  want: readonly [message: string, detail: string] | undefined,
])[] = [
  ['feasible: fits the node', pod('2/2 4Gi/4Gi'), guaranteed, {}, undefined],
  [
    'feasible for admission to decide: more than the node has',
    pod('64/64 1Gi/1Gi'),
    guaranteed,
    {},
    undefined,
  ],
  ['feasible: a static pod', pod('2/2 1Gi/1Gi', staticPod), pod('1/1 1Gi/1Gi', staticPod), {}, undefined],
  [
    'infeasible: exclusive CPUs',
    pod('2/2 1Gi/1Gi'),
    guaranteed,
    { cpusArePinned: true },
    [noCpuPins, 'guaranteed_pod_cpu_manager_static_policy'],
  ],
  [
    'feasible: exclusive CPUs, only memory changes',
    pod('1/1 2Gi/2Gi'),
    guaranteed,
    { cpusArePinned: true },
    undefined,
  ],
  [
    'feasible: static CPU policy, but not a Guaranteed pod',
    pod('2/3 1Gi/1Gi'),
    pod('1/3 1Gi/1Gi'),
    { cpusArePinned: true },
    undefined,
  ],
  [
    'infeasible: pinned memory',
    pod('1/1 2Gi/2Gi'),
    guaranteed,
    { memoryIsPinned: true },
    [noMemoryPins, 'guaranteed_pod_memory_manager_static_policy'],
  ],
  [
    'infeasible: memory request that changes the swap limit',
    pod('1/2 2Gi/3Gi'),
    pod('1/2 1Gi/3Gi'),
    { maySwap: () => true },
    [noSwap, 'swap_limitation'],
  ],
  [
    'feasible: swap, but the container restarts for memory',
    pod('1/2 2Gi/3Gi', {}, restart),
    pod('1/2 1Gi/3Gi', {}, restart),
    { maySwap: () => true },
    undefined,
  ],
  [
    'feasible: swap, but only CPU changes',
    pod('1500m/2 1Gi/3Gi'),
    pod('1/2 1Gi/3Gi'),
    { maySwap: () => true },
    undefined,
  ],
];
for (const [name, requested, allocated, over, want] of cases)
  test(`findInfeasibility: ${name}`, () => {
    const found = findInfeasibility(requested, allocated, { ...rules, ...over });
    expect(found && [found.message, found.detail]).toEqual(want);
  });

test('detects increased requests, and whether the resources differ at all', () => {
  const more = (requested: string): boolean => increasesRequests(pod(requested), guaranteed, rules);
  expect([more('2/2 1Gi/1Gi'), more('1/1 2Gi/2Gi'), more('500m/1 1Gi/1Gi'), more('1/2 1Gi/2Gi')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(more('500m/1 2Gi/2Gi')).toBe(true);
  expect([
    isResized(pod('1000m/1 1024Mi/1Gi'), guaranteed),
    isResized(pod('1/2 1Gi/1Gi'), guaranteed),
    isResized(pod('1/1 1Gi/1Gi', { resources: { limits: { cpu: '2' } } }), guaranteed),
  ]).toEqual([false, true, true]);
});

const waiting = (name: string, over: Partial<PendingResize> = {}): PendingResize => ({
  uid: asPodUid(name),
  increasesRequests: true,
  priority: 0,
  guaranteed: false,
  sinceMs: 5,
  ...over,
});

test('orders pending resizes by decrease, priority, QoS class and age', () => {
  const order = orderPending([
    waiting('new', { sinceMs: undefined }),
    waiting('late', { sinceMs: 9 }),
    waiting('early', { sinceMs: 1 }),
    waiting('exact', { guaranteed: true, sinceMs: 20 }),
    waiting('urgent', { priority: 1000 }),
    waiting('unimportant', { priority: -5, guaranteed: true }),
    waiting('less', { increasesRequests: false, priority: -100, sinceMs: undefined }),
  ]);
  expect(order.map(({ uid }) => uid)).toEqual([
    'less',
    'urgent',
    'exact',
    'early',
    'late',
    'new',
    'unimportant',
  ]);
});

test('counts the requested changes per resource and requirement', () => {
  const lines = (before: Pod, after: Pod): readonly string[] =>
    requestedResizes(before, after).map((each) => `${each.resource} ${each.requirement} ${each.operation}`);
  expect(lines(pod('1/2 1Gi/2Gi'), pod('2/1 1Gi/2Gi'))).toEqual([
    'cpu requests increase',
    'cpu limits decrease',
  ]);
  const bare = aPod({ containers: [aContainer()] });
  expect(lines(bare, pod('1/1 1Gi/1Gi'))).toEqual([
    'memory requests add',
    'memory limits add',
    'cpu requests add',
    'cpu limits add',
  ]);
  expect(lines(pod('1/1 1Gi/1Gi'), bare)).toHaveLength(4);
  expect(lines(pod('1/1 1Gi/1Gi'), pod('1000m/1 1024Mi/1Gi'))).toEqual([]);
});
