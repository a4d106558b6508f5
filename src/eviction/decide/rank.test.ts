import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import {
  aContainerLoad,
  amount,
  aPodLoad,
  aRequestingPod,
  aVolumeUsage,
} from '../../../test/builders/eviction.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { PodLoad } from '../../api/ports/node-usage.ts';
import type { DiskLayout } from './layout.ts';
import { type RankedPod, rankPods } from './rank.ts';
import type { Signal } from './thresholds.ts';

type Candidate = readonly [Pod, PodLoad | undefined];

function rank(
  signal: Signal,
  candidates: readonly Candidate[],
  layout: DiskLayout = 'one',
): readonly RankedPod[] {
  const loads = new Map<PodUid, PodLoad>(
    candidates.flatMap(([, load]) => (load === undefined ? [] : [[load.uid, load] as const])),
  );
  const pods = candidates.map(([pod]) => pod);
  return rankPods(signal, layout, pods, loads);
}
const names = (ranked: readonly RankedPod[]): readonly string[] =>
  ranked.map(({ pod }) => pod.metadata?.name ?? '');

function usingMemory(name: string, used: string, request: string, over: PodOver = {}): Candidate {
  const pod = aRequestingPod(name, request === '' ? {} : { memory: request }, over);
  return [pod, aPodLoad(pod, { workingSetBytes: amount(used) })];
}

/** `used`: of the writable layer, of logs, of a local volume. */
function usingDisk(name: string, used: readonly string[], request: string, over: PodOver = {}): Candidate {
  const pod = aRequestingPod(name, request === '' ? {} : { 'ephemeral-storage': request }, over);
  const [layer = 0, logs = 0, volume = 0] = used.map(amount);
  const containers = [
    aContainerLoad({ writtenBytes: layer, writtenInodes: layer, logBytes: logs, logInodes: logs }),
  ];
  const volumes = [
    aVolumeUsage({ usedBytes: volume, inodesUsed: volume }),
    aVolumeUsage({ name: 'claimed', isLocalEphemeral: false, usedBytes: 2 ** 50, inodesUsed: 2 ** 50 }),
  ];
  return [pod, aPodLoad(pod, { containers, volumes })];
}

function running(name: string, processes: number, priority: number): Candidate {
  const pod = aPod({ name, priority });
  return [pod, aPodLoad(pod, { processes })];
}

const low = { priority: -1 };
const high = { priority: 1 };

describe('memory', () => {
  test('pods above their requests first, whatever their priority', () => {
    const below = usingMemory('below', '199Mi', '200Mi', low);
    const above = usingMemory('above', '101Mi', '100Mi', high);
    expect(names(rank('memory.available', [below, above]))).toEqual(['above', 'below']);
  });

  test('exactly the request does not exceed it', () => {
    const [ranked] = rank('memory.available', [usingMemory('exact', '100Mi', '100Mi')]);
    expect(ranked).toMatchObject({ exceedsRequest: false, usage: amount('100Mi'), request: amount('100Mi') });
  });

  test('the largest excess first, among pods of one priority', () => {
    const pods = [
      usingMemory('best-effort-high', '500Mi', ''),
      usingMemory('best-effort-low', '300Mi', ''),
      usingMemory('burstable-high', '800Mi', '100Mi'),
      usingMemory('burstable-low', '300Mi', '100Mi'),
      usingMemory('guaranteed-high', '800Mi', '1Gi'),
      usingMemory('guaranteed-low', '200Mi', '1Gi'),
    ];
    expect(names(rank('memory.available', pods))).toEqual([
      'burstable-high',
      'best-effort-high',
      'best-effort-low',
      'burstable-low',
      'guaranteed-high',
      'guaranteed-low',
    ]);
  });

  test('by excess of the request, then priority, then amount', () => {
    const pods = [
      usingMemory('8', '200Mi', '1Gi', high),
      usingMemory('7', '800Mi', '1Gi', high),
      usingMemory('6', '200Mi', '1Gi', low),
      usingMemory('5', '800Mi', '1Gi', low),
      usingMemory('4', '150Mi', '100Mi', high),
      usingMemory('3', '600Mi', '100Mi', high),
      usingMemory('2', '50Mi', '', low),
      usingMemory('1', '500Mi', '', low),
    ];
    const want = ['1', '2', '3', '4', '5', '6', '7', '8'];
    expect(names(rank('memory.available', pods))).toEqual(want);
    expect(names(rank('allocatableMemory.available', pods))).toEqual(want);
  });
});

describe('disk', () => {
  test('pods above their requests first, whatever their priority', () => {
    const below = usingDisk('below', ['100Mi', '99Mi', '0'], '200Mi', low);
    const above = usingDisk('above', ['90Mi', '11Mi', '0'], '100Mi', high);
    expect(names(rank('nodefs.available', [below, above]))).toEqual(['above', 'below']);
  });

  test('the largest excess first, among pods of one priority', () => {
    const pods = [
      usingDisk('best-effort-high', ['50Mi', '100Mi', '150Mi'], ''),
      usingDisk('best-effort-low', ['25Mi', '25Mi', '50Mi'], ''),
      usingDisk('burstable-high', ['150Mi', '150Mi', '50Mi'], '100Mi'),
      usingDisk('burstable-low', ['25Mi', '35Mi', '50Mi'], '100Mi'),
      usingDisk('guaranteed-high', ['225Mi', '100Mi', '50Mi'], '400Mi'),
      usingDisk('guaranteed-low', ['25Mi', '45Mi', '50Mi'], '400Mi'),
    ];
    expect(names(rank('nodefs.available', pods))).toEqual([
      'best-effort-high',
      'burstable-high',
      'best-effort-low',
      'burstable-low',
      'guaranteed-high',
      'guaranteed-low',
    ]);
  });

  test('by excess of the request, then priority, then amount', () => {
    const pods = [
      usingDisk('8', ['100Mi', '60Mi', '40Mi'], '1Gi', high),
      usingDisk('7', ['250Mi', '500Mi', '50Mi'], '1Gi', high),
      usingDisk('6', ['50Mi', '100Mi', '50Mi'], '1Gi', low),
      usingDisk('5', ['500Mi', '200Mi', '100Mi'], '1Gi', low),
      usingDisk('4', ['90Mi', '50Mi', '10Mi'], '100Mi', high),
      usingDisk('3', ['200Mi', '150Mi', '250Mi'], '100Mi', high),
      usingDisk('2', ['10Mi', '10Mi', '30Mi'], '', low),
      usingDisk('1', ['200Mi', '100Mi', '200Mi'], '', low),
    ];
    expect(names(rank('nodefs.available', pods))).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
  });

  const parts = [usingDisk('p', ['1', '20', '300'], '')];
  test.each([
    ['one', 'nodefs', 321],
    ['one', 'imagefs', 321],
    ['one', 'containerfs', 321],
    ['imagefs', 'nodefs', 320],
    ['imagefs', 'imagefs', 1],
    ['imagefs', 'containerfs', 1],
    ['split', 'nodefs', 321],
    ['split', 'imagefs', 0],
    ['split', 'containerfs', 321],
  ] as const)('%s: what counts on %s', (layout, name, want) => {
    expect(rank(`${name}.available`, parts, layout)[0]?.usage).toBe(want);
    expect(rank(`${name}.inodesFree`, parts, layout)[0]?.usage).toBe(want);
  });

  test('images on their own file system: by priority, then the smaller request', () => {
    const pods = [
      usingDisk('large', ['9Gi', '0', '0'], '2Gi', low),
      usingDisk('small', ['1', '0', '0'], '1Gi', low),
      usingDisk('high', ['9Gi', '0', '0'], '', high),
    ];
    expect(names(rank('imagefs.available', pods, 'split'))).toEqual(['small', 'large', 'high']);
  });
});

describe('inodes', () => {
  test('the most inodes first', () => {
    const pods = [
      usingDisk('low', ['50k', '100k', '50k'], ''),
      usingDisk('medium', ['100k', '150k', '50k'], ''),
      usingDisk('high', ['200k', '150k', '50k'], ''),
    ];
    expect(names(rank('nodefs.inodesFree', pods))).toEqual(['high', 'medium', 'low']);
  });

  test('by priority, then inodes', () => {
    const pods = [
      usingDisk('4', ['10k', '40k', '100k'], '', high),
      usingDisk('3', ['150k', '150k', '50k'], '', high),
      usingDisk('2', ['60k', '30k', '10k'], '', low),
      usingDisk('1', ['50k', '100k', '250k'], '', low),
    ];
    expect(names(rank('nodefs.inodesFree', pods))).toEqual(['1', '2', '3', '4']);
  });

  test('a storage request in bytes has no influence', () => {
    const pods = [usingDisk('few', ['1k', '0', '0'], ''), usingDisk('many', ['900k', '0', '0'], '10Gi')];
    const ranked = rank('nodefs.inodesFree', pods);
    expect(names(ranked)).toEqual(['many', 'few']);
    expect(ranked.map(({ request }) => request)).toEqual([0, 0]);
  });

  test('a pod without inodes last, whatever its priority', () => {
    const pods = [usingDisk('none', ['0', '0', '0'], '', low), usingDisk('some', ['1', '0', '0'], '', high)];
    expect(names(rank('nodefs.inodesFree', pods))).toEqual(['some', 'none']);
  });
});

test('processes: by priority, then their number', () => {
  const pods = [running('4', 5, 1), running('3', 20, 1), running('2', 6, -1), running('1', 20, -1)];
  const ranked = rank('pid.available', pods);
  expect(names(ranked)).toEqual(['1', '2', '3', '4']);
  expect(ranked.some(({ exceedsRequest }) => exceedsRequest)).toBe(false);
});

describe('pods without statistics', () => {
  const unknown = (name: string, over: PodOver = {}): Candidate => [aPod({ name, ...over }), undefined];
  const known = (name: string, over: PodOver = {}): Candidate => {
    const pod = aPod({ name, ...over });
    return [pod, aPodLoad(pod, { workingSetBytes: 2 ** 40, processes: 9 })];
  };
  test.each([
    ['memory.available', ['unknown', 'known']],
    ['nodefs.available', ['unknown', 'known']],
    ['nodefs.inodesFree', ['unknown', 'known']],
  ] as const)('%s: first, whatever their priority', (signal, want) => {
    expect(names(rank(signal, [known('known', low), unknown('unknown', high)]))).toEqual(want);
  });

  test('pid.available: first within their priority', () => {
    const pods = [known('a', high), unknown('b', high), known('c', low), unknown('d', low)];
    expect(names(rank('pid.available', pods))).toEqual(['d', 'c', 'b', 'a']);
  });

  test('among each other by priority', () => {
    const pods = [unknown('a', high), unknown('b', low)];
    expect(names(rank('memory.available', pods))).toEqual(['b', 'a']);
  });

  test('a figure that was not measured counts as 0 in a pod with others', () => {
    const pod = aPod();
    expect(rank('memory.available', [[pod, aPodLoad(pod)]])[0]).toMatchObject({ usage: 0 });
    expect(rank('pid.available', [[pod, aPodLoad(pod)]])[0]).toMatchObject({ usage: 0 });
  });
});

describe('requests', () => {
  const request = (signal: Signal, over: PodOver, options = {}): number | undefined =>
    rankPods(signal, 'one', [aPod(over)], new Map(), options)[0]?.request;
  const mib = (value: number): Record<string, string> => ({ memory: `${value}Mi` });
  const app = aContainer({ name: 'a', resources: { requests: { ...mib(100), 'ephemeral-storage': '7Mi' } } });
  const init = aContainer({ name: 'i', resources: { requests: mib(300) } });
  const sidecar = aContainer({ name: 's', restartPolicy: 'Always', resources: { requests: mib(50) } });
  const pods: readonly (readonly [string, PodOver, string])[] = [
    ['the sum of the containers', { containers: [app, { ...app, name: 'b' }] }, '200Mi'],
    ['a larger init container', { containers: [app], initContainers: [init] }, '300Mi'],
    ['a sidecar', { containers: [app], initContainers: [sidecar] }, '150Mi'],
    ['an init container beside a sidecar', { containers: [app], initContainers: [sidecar, init] }, '350Mi'],
    ['overhead', { containers: [app], overhead: mib(11) }, '111Mi'],
    ['overhead of a pod without requests', { containers: [aContainer()], overhead: mib(11) }, '0'],
    ['pod-level resources', { containers: [app], resources: { requests: mib(77) } }, '77Mi'],
    [
      'pod-level resources with overhead',
      { containers: [app], resources: { requests: mib(77) }, overhead: mib(3) },
      '80Mi',
    ],
  ];
  test.each(pods)('%s', (_name, over, want) => {
    expect(request('memory.available', over)).toBe(amount(want));
  });

  test('pod-level resources do not hide the storage requests of containers', () => {
    const over = { containers: [app], resources: { requests: mib(77) } };
    expect(request('nodefs.available', over)).toBe(amount('7Mi'));
  });

  test('an amount that cannot be parsed counts as none', () => {
    const hostile = { containers: [aContainer({ resources: { requests: { memory: '1e5000' } } })] };
    expect(request('memory.available', hostile)).toBe(0);
    expect(request('nodefs.available', hostile)).toBe(0);
  });

  test('pod-level resources without their gate', () => {
    const over = { containers: [app], resources: { requests: mib(77) } };
    expect(request('memory.available', over, { skipPodLevelResources: true })).toBe(amount('100Mi'));
  });
});

describe('critical pods', () => {
  const source = (name: string): PodOver => ({ annotations: { 'kubernetes.io/config.source': name } });
  test.each([
    ['a static pod', source('file'), false],
    ['a mirror pod', { annotations: { 'kubernetes.io/config.mirror': 'x' } }, false],
    ['system-cluster-critical', { priority: 2_000_000_000 }, false],
    ['one below', { priority: 1_999_999_999 }, true],
    ['a pod of the API server', source('api'), true],
  ])('%s', (_name, over, want) => {
    expect(rank('memory.available', [usingMemory('p', '1Gi', '', over)])[0]?.evictable).toBe(want);
  });
});

test.each([
  [
    'memory.available',
    usingMemory('p', '500Mi', '100Mi'),
    'uses 500Mi of memory, 400Mi above its request of 100Mi, has priority 0.',
  ],
  [
    'memory.available',
    usingMemory('p', '50Mi', '100Mi'),
    'uses 50Mi of memory, within its request of 100Mi, has priority 0.',
  ],
  [
    'memory.available',
    usingMemory('p', '1.25Gi', '', high),
    'uses 1.3Gi of memory and requests none, has priority 1.',
  ],
  [
    'nodefs.available',
    usingDisk('p', ['5', '5', '0'], ''),
    'uses 10 of local storage and requests none, has priority 0.',
  ],
  ['nodefs.inodesFree', usingDisk('p', ['5', '5', '0'], '1Gi'), 'uses 10 inodes, has priority 0.'],
  [
    'pid.available',
    running('p', 20, 2_000_000_000),
    'uses 20 processes, has priority 2000000000 and is critical, so it is never evicted.',
  ],
  ['pid.available', [aPod(), undefined], 'has no statistics, has priority 0.'],
] as const)('why: %s %#', (signal, candidate, want) => {
  expect(rank(signal, [candidate])[0]?.why).toBe(`The pod ${want}`);
});

test('requests beyond the range of numbers keep the order total', () => {
  const pods = ['b', 'a', 'c'].map((name) => usingMemory(name, '1Gi', '1e900'));
  expect(names(rank('memory.available', [...pods, usingMemory('d', '1Gi', '2Gi')]))).toEqual([
    'd',
    'a',
    'b',
    'c',
  ]);
});

test('the order is total: it does not depend on the order of the input', () => {
  const candidate = fc.record({
    priority: fc.option(fc.integer({ min: -2, max: 2 }), { nil: undefined }),
    used: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
    request: fc.integer({ min: 0, max: 4 }),
  });
  const signals = ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'pid.available'] as const;
  fc.assert(
    fc.property(
      fc.array(candidate, { maxLength: 12 }),
      fc.constantFrom(...signals),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (rows, signal, random) => {
        const pods = rows.map(({ priority, request, used }, at): Candidate => {
          const requests = { memory: `${request}`, 'ephemeral-storage': `${request}` };
          const pod = aRequestingPod(`p${at}`, requests, priority === undefined ? {} : { priority });
          if (used === undefined) return [pod, undefined];
          const containers = [aContainerLoad({ logBytes: used, logInodes: used })];
          return [pod, aPodLoad(pod, { workingSetBytes: used, processes: used, containers })];
        });
        const shuffled = pods
          .map((pod) => ({ pod, at: random.next().value as number }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ pod }) => pod);
        const ranked = rank(signal, pods);
        expect(names(rank(signal, shuffled))).toEqual(names(ranked));
        expect(new Set(ranked.map(({ pod }) => pod))).toEqual(new Set(pods.map(([pod]) => pod)));
        expect(ranked).toHaveLength(pods.length);
      },
    ),
  );
});
