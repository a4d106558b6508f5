import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import {
  aDisk,
  aMemoryRoom,
  amount,
  aPodLoad,
  aRequestingPod,
  aThreshold,
  aVolumeUsage,
} from '../../test/builders/eviction.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { NodeSignals, PodLoad } from '../api/ports/node-usage.ts';
import type { Threshold } from './decide/thresholds.ts';
import { EvictionDryRun } from './dry-run.ts';
import { Pressure } from './pressure.ts';

const disk = aDisk({ capacityBytes: amount('100Gi'), availableBytes: amount('40Gi') });
const plenty: NodeSignals = {
  memory: aMemoryRoom({ capacityBytes: amount('8Gi'), availableBytes: amount('4Gi') }),
  kernelAvailableBytes: amount('6Gi'),
  podMemory: undefined,
  nodeFs: disk,
  imageFs: disk,
  containerFs: disk,
  processes: { atMs: 1_000, max: 1_000, current: 100 },
};
const short = { memory: aMemoryRoom({ capacityBytes: amount('8Gi'), availableBytes: amount('1Mi') }) };
const thresholds = [
  aThreshold('memory.available', '1Gi'),
  aThreshold('nodefs.available', '10%'),
  aThreshold('nodefs.inodesFree', '5%', { graceMs: 60_000 }),
];

interface Node {
  readonly pods?: readonly Pod[];
  readonly loads?: readonly PodLoad[];
  readonly signals?: Partial<NodeSignals>;
  readonly thresholds?: readonly Threshold[];
}

function dryRun(node: Node) {
  let measurements = 0;
  const clock = new FakeClock();
  const signals = { ...plenty, ...node.signals };
  const run = new EvictionDryRun({
    pods: { all: () => node.pods ?? [] },
    load: {
      memory: () => signals,
      signals: async () => {
        measurements += 1;
        return signals;
      },
      pods: async () => new Map((node.loads ?? []).map((load) => [load.uid, load])),
    },
    pressure: new Pressure(),
    clock,
    settings: {
      thresholds: node.thresholds ?? thresholds,
      transitionMs: 300_000,
      maxPodGraceSeconds: 0,
      memorySource: 'WorkingSet',
      storageLimits: true,
      separateDiskGc: true,
      skipPodLevelResources: false,
    },
  });
  return { clock, run, measurements: () => measurements };
}

const modest = aRequestingPod('modest', { memory: '2Gi' });
const greedy = aPod({ name: 'greedy' });
const critical = aPod({ name: 'critical', priority: 2_000_000_000 });
const loads = [
  aPodLoad(modest, { workingSetBytes: amount('1Gi') }),
  aPodLoad(greedy, { workingSetBytes: amount('70Mi') }),
  aPodLoad(critical, { workingSetBytes: amount('3Gi') }),
];

test('lists the pods of each resource in the order of eviction, each with a reason', async () => {
  const { order } = await dryRun({ pods: [modest, greedy, critical], loads }).run.explain();
  const [memory, ...others] = order;
  expect(memory?.pods.map(({ evictable, pod, why }) => [pod, evictable, why])).toEqual([
    ['default/greedy', true, 'The pod uses 70Mi of memory and requests none, has priority 0.'],
    [
      'default/critical',
      false,
      'The pod uses 3Gi of memory and requests none, has priority 2000000000 and is critical, so it is never evicted.',
    ],
    ['default/modest', true, 'The pod uses 1Gi of memory, within its request of 2Gi, has priority 0.'],
  ]);
  expect(others.map(({ resource, signals }) => [resource, signals])).toEqual([
    ['ephemeral-storage', ['nodefs.available', 'containerfs.available']],
    ['inodes', ['nodefs.inodesFree', 'containerfs.inodesFree']],
  ]);
});

test('reports both memory figures, and every signal with its thresholds', async () => {
  const { memory, signals } = await dryRun({ signals: { nodeFs: undefined } }).run.explain();
  expect(memory).toEqual({
    source: 'WorkingSet',
    workingSetAvailableBytes: amount('4Gi'),
    kernelAvailableBytes: amount('6Gi'),
  });
  expect(signals[0]).toEqual({
    signal: 'memory.available',
    available: amount('4Gi'),
    capacity: amount('8Gi'),
    thresholds: [{ quantity: '1Gi', kind: 'hard', graceSeconds: 0, met: false }],
  });
  expect(signals.find(({ signal }) => signal === 'nodefs.inodesFree')).toMatchObject({
    available: undefined,
    thresholds: [{ kind: 'soft', graceSeconds: 60, met: false }],
  });
});

test('the state of the node has both memory figures and measures nothing else', () => {
  const { measurements, run } = dryRun({ signals: short });
  expect(run.node()).toEqual({
    conditions: [],
    memory: {
      source: 'WorkingSet',
      workingSetAvailableBytes: amount('1Mi'),
      kernelAvailableBytes: amount('6Gi'),
    },
  });
  expect(measurements()).toBe(0);
});

test('separate file systems have separate orders', async () => {
  const images = aDisk({ device: 'images' });
  const signals = { imageFs: images, containerFs: images };
  const own = [...thresholds, aThreshold('imagefs.available', '15%')];
  const { order } = await dryRun({ signals, thresholds: own }).run.explain();
  expect(order.map(({ resource }) => resource)).toEqual([
    'memory',
    'ephemeral-storage of nodefs',
    'inodes of nodefs',
    'ephemeral-storage of imagefs',
    'ephemeral-storage of containerfs',
  ]);
});

describe('the sentence', () => {
  const soft = [aThreshold('memory.available', '1Gi', { graceMs: 90_000 })];
  const cases: readonly (readonly [string, Node, string])[] = [
    ['no pressure', {}, 'No eviction threshold is met, so no pod would be evicted for pressure.'],
    [
      'a victim',
      { pods: [modest, greedy, critical], loads, signals: short },
      'The threshold of memory.available is met: the pod default/greedy would be evicted now.',
    ],
    [
      'a soft threshold',
      { pods: [greedy], loads, signals: short, thresholds: soft },
      'The threshold of memory.available is met: the pod default/greedy would be evicted if this lasts for 90 s.',
    ],
    [
      'critical pods only',
      { pods: [critical], loads, signals: short },
      'The threshold of memory.available is met, but no pod on the node may be evicted.',
    ],
    [
      'memory before disk',
      {
        pods: [greedy],
        loads,
        signals: { ...short, nodeFs: aDisk({ capacityBytes: 100, availableBytes: 1 }) },
        thresholds: thresholds.toReversed(),
      },
      'The threshold of memory.available is met: the pod default/greedy would be evicted now.',
    ],
  ];
  for (const [name, node, sentence] of cases)
    test(name, async () => expect((await dryRun(node).run.explain()).explanation).toBe(sentence));
});

test('names the pods above a limit of local storage', async () => {
  const pod = aPod({ name: 'cache', volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }] });
  const load = aPodLoad(pod, { volumes: [aVolumeUsage({ name: 'v', usedBytes: amount('2Gi') })] });
  const { overStorageLimit } = await dryRun({ pods: [pod], loads: [load] }).run.explain();
  expect(overStorageLimit.map(({ pod: ref, why }) => [ref, why])).toEqual([
    ['default/cache', 'Usage of EmptyDir volume "v" exceeds the limit "1Gi".'],
  ]);
});

test('callers share a measurement for two seconds', async () => {
  const { clock, measurements, run } = dryRun({});
  await Promise.all([run.explain(), run.explain()]);
  await clock.advance(1_999);
  await run.explain();
  expect(measurements()).toBe(1);
  await clock.advance(1);
  await run.explain();
  expect(measurements()).toBe(2);
});

test('the marks of thresholds are amounts; a percentage of an unknown capacity is left out', () => {
  const { run } = dryRun({});
  expect(run.marks(plenty)).toEqual({
    availableMemoryBytes: amount('4Gi'),
    thresholds: [
      { kind: 'hard', signal: 'memory.available', available: amount('1Gi') },
      { kind: 'hard', signal: 'nodefs.available', available: Math.floor(amount('100Gi') * Math.fround(0.1)) },
      { kind: 'soft', signal: 'nodefs.inodesFree', available: 5 },
      { kind: 'hard', signal: 'containerfs.available', available: expect.any(Number) },
      { kind: 'soft', signal: 'containerfs.inodesFree', available: 5 },
    ],
  });
  const unmeasured = { ...plenty, nodeFs: undefined, memory: undefined };
  expect(run.marks(unmeasured)).toEqual({
    availableMemoryBytes: undefined,
    thresholds: [
      { kind: 'hard', signal: 'memory.available', available: amount('1Gi') },
      { kind: 'hard', signal: 'containerfs.available', available: expect.any(Number) },
      { kind: 'soft', signal: 'containerfs.inodesFree', available: 5 },
    ],
  });
});
