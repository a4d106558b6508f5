import { describe, expect, test } from 'vitest';
import { aThreshold } from '../../../test/builders/eviction.ts';
import { conditionOf, parseThresholds, resourceOf, type Threshold, withContainerFs } from './thresholds.ts';

type Config = Parameters<typeof parseThresholds>[0];
const config = (over: Partial<Config> = {}): Config => ({
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  enforceNodeAllocatable: [],
  ignoreAllocatable: false,
  ...over,
});
const memory = (value: string): Record<string, string> => ({ 'memory.available': value });
const images = (bytes: string, inodes?: string): Record<string, string> => ({
  'imagefs.available': bytes,
  ...(inodes === undefined ? {} : { 'imagefs.inodesFree': inodes }),
});
/** Comparable: quantities by value, not by spelling. */
const shown = (thresholds: readonly Threshold[]): readonly string[] =>
  thresholds.map(({ signal, value, graceMs, minReclaim }) => {
    const text = (each: Threshold['value'] | undefined): string =>
      each === undefined ? '-' : 'quantity' in each ? String(each.quantity.value()) : `${each.percentage}`;
    return `${signal} < ${text(value)} for ${graceMs}, reclaim ${text(minReclaim)}`;
  });

describe('parseThresholds', () => {
  const grace = { graceMs: 30_000 };
  const allMemory = {
    evictionHard: memory('150Mi'),
    evictionSoft: memory('300Mi'),
    evictionSoftGracePeriod: memory('30s'),
    evictionMinimumReclaim: memory('0'),
  };
  const hardAndSoft = [
    aThreshold('memory.available', '150Mi', { reclaim: '0' }),
    aThreshold('memory.available', '300Mi', { ...grace, reclaim: '0' }),
  ];
  const cases: readonly (readonly [string, Partial<Config>, readonly Threshold[]])[] = [
    ['nothing', {}, []],
    [
      'hard, soft and minimum reclaim of memory, with the copy for allocatable memory last',
      { ...allMemory, enforceNodeAllocatable: ['pods'] },
      [...hardAndSoft, aThreshold('allocatableMemory.available', '150Mi', { reclaim: '0' })],
    ],
    [
      'no copy if allocatable is not enforced on pods',
      { ...allMemory, enforceNodeAllocatable: ['system-reserved'] },
      hardAndSoft,
    ],
    [
      'no copy with --experimental-allocatable-ignore-eviction',
      { ...allMemory, enforceNodeAllocatable: ['pods'], ignoreAllocatable: true },
      hardAndSoft,
    ],
    [
      'percentages of memory',
      {
        evictionHard: memory('10%'),
        evictionSoft: memory('30%'),
        evictionSoftGracePeriod: memory('30s'),
        evictionMinimumReclaim: memory('5%'),
      },
      [
        aThreshold('memory.available', '10%', { reclaim: '5%' }),
        aThreshold('memory.available', '30%', { ...grace, reclaim: '5%' }),
      ],
    ],
    [
      'disks, in the order of the configuration',
      {
        evictionHard: { ...images('150Mi'), 'nodefs.available': '10.5%' },
        evictionSoft: { ...images('300Mi'), 'nodefs.available': '20.5%' },
        evictionSoftGracePeriod: { ...images('30s'), 'nodefs.available': '1m30s' },
        evictionMinimumReclaim: { ...images('2Gi'), 'nodefs.available': '5%' },
      },
      [
        aThreshold('imagefs.available', '150Mi', { reclaim: '2Gi' }),
        aThreshold('nodefs.available', '10.5%', { reclaim: '5%' }),
        aThreshold('imagefs.available', '300Mi', { ...grace, reclaim: '2Gi' }),
        aThreshold('nodefs.available', '20.5%', { graceMs: 90_000, reclaim: '5%' }),
      ],
    ],
    [
      'inodes',
      { evictionHard: { 'imagefs.inodesFree': '150Mi', 'nodefs.inodesFree': '100Mi' } },
      [aThreshold('imagefs.inodesFree', '150Mi'), aThreshold('nodefs.inodesFree', '100Mi')],
    ],
    ['processes', { evictionHard: { 'pid.available': '1k' } }, [aThreshold('pid.available', '1000')]],
    ['0% disables, without a grace period', { evictionHard: memory('0%'), evictionSoft: memory('0%') }, []],
    [
      '100% disables, without a grace period',
      { evictionHard: memory('100%'), evictionSoft: memory('100%') },
      [],
    ],
    ['0.0% is a threshold', { evictionHard: memory('0.0%') }, [aThreshold('memory.available', '0.0%')]],
    [
      'a soft threshold with grace 0 is hard, and is copied for allocatable memory',
      {
        evictionSoft: memory('1Gi'),
        evictionSoftGracePeriod: memory('0s'),
        enforceNodeAllocatable: ['pods'],
      },
      [aThreshold('memory.available', '1Gi'), aThreshold('allocatableMemory.available', '1Gi')],
    ],
    [
      'two hard thresholds of memory are both copied',
      {
        evictionHard: memory('150Mi'),
        evictionSoft: memory('200Mi'),
        evictionSoftGracePeriod: memory('0'),
        enforceNodeAllocatable: ['pods'],
      },
      [
        aThreshold('memory.available', '150Mi'),
        aThreshold('memory.available', '200Mi'),
        aThreshold('allocatableMemory.available', '150Mi'),
        aThreshold('allocatableMemory.available', '200Mi'),
      ],
    ],
    [
      'only memory is copied',
      { evictionHard: images('150Mi'), enforceNodeAllocatable: ['pods'] },
      [aThreshold('imagefs.available', '150Mi')],
    ],
    ['an unused minimum reclaim', { evictionMinimumReclaim: memory('1Gi') }, []],
  ];
  test.each(cases)('%s', (_name, given, want) => {
    expect(shown(parseThresholds(config(given)))).toEqual(shown(want));
  });

  const faults: readonly (readonly [string, Partial<Config>])[] = [
    ['an unknown signal', { evictionHard: { 'mem.available': '150Mi' } }],
    ['a known and an unknown signal', { evictionHard: { ...memory('150Mi'), 'invalid.foo': '150Mi' } }],
    ['a negative quantity', { evictionHard: memory('-150Mi') }],
    ['a quantity of 0', { evictionHard: memory('0') }],
    ['a negative percentage', { evictionHard: memory('-15%') }],
    ['more than 100%', { evictionHard: memory('150%') }],
    ['an infinite percentage', { evictionMinimumReclaim: memory('1e39%') }],
    ['an empty value', { evictionHard: memory('') }],
    ['an invalid percentage', { evictionHard: memory('10..5%') }],
    ['text after the percent sign', { evictionHard: memory('12%345') }],
    ['a percentage in words', { evictionHard: memory('foo%') }],
    ['a negative soft threshold', { evictionSoft: memory('-150Mi'), evictionSoftGracePeriod: memory('30s') }],
    ['a soft threshold without grace', { evictionSoft: memory('150Mi') }],
    ['a negative grace', { evictionSoft: memory('150Mi'), evictionSoftGracePeriod: memory('-30s') }],
    ['an invalid grace', { evictionSoft: memory('150Mi'), evictionSoftGracePeriod: memory('30mins') }],
    ['a grace for an unknown signal', { evictionSoftGracePeriod: { 'mem.available': '30s' } }],
    ['a negative minimum reclaim', { evictionMinimumReclaim: memory('-300Mi') }],
    ['a minimum reclaim of an unknown signal', { evictionMinimumReclaim: { 'mem.available': '300Mi' } }],
    ['an empty minimum reclaim', { evictionMinimumReclaim: memory('') }],
    ['a negative minimum reclaim in percent', { evictionMinimumReclaim: memory('-15%') }],
    ['a minimum reclaim of 0%', { evictionMinimumReclaim: memory('0%') }],
    ['an invalid minimum reclaim in percent', { evictionMinimumReclaim: memory('10..5%') }],
  ];
  test.each(faults)('rejects %s', (_name, given) => {
    expect(() => parseThresholds(config(given))).toThrow();
  });
});

describe('withContainerFs', () => {
  const grace = { graceMs: 60_000 };
  const node = [
    aThreshold('nodefs.available', '100Mi', { reclaim: '1Gi' }),
    aThreshold('nodefs.available', '200Mi', { ...grace, reclaim: '2Gi' }),
    aThreshold('nodefs.inodesFree', '110Mi', { reclaim: '3Gi' }),
    aThreshold('nodefs.inodesFree', '210Mi', { ...grace, reclaim: '4Gi' }),
  ];
  const image = [
    aThreshold('imagefs.available', '150Mi', { reclaim: '1.5Gi' }),
    aThreshold('imagefs.available', '300Mi', { ...grace, reclaim: '3Gi' }),
    aThreshold('imagefs.inodesFree', '160Mi', { reclaim: '5Gi' }),
    aThreshold('imagefs.inodesFree', '310Mi', { ...grace, reclaim: '6Gi' }),
  ];
  const asContainerFs = (thresholds: readonly Threshold[]): readonly Threshold[] =>
    thresholds.map((each) => ({
      ...each,
      signal: each.signal.endsWith('available') ? 'containerfs.available' : 'containerfs.inodesFree',
    }));
  const own = [
    aThreshold('containerfs.available', '500Mi', { reclaim: '5Gi' }),
    aThreshold('containerfs.available', '510Mi', { ...grace, reclaim: '5Gi' }),
    aThreshold('containerfs.inodesFree', '520Mi', { reclaim: '5Gi' }),
    aThreshold('containerfs.inodesFree', '530Mi', { ...grace, reclaim: '5Gi' }),
  ];
  const memoryToo = aThreshold('memory.available', '1Gi');
  const ownSignals = ['containerfs.available', 'containerfs.inodesFree'];

  test.each([
    ['one', asContainerFs(node)],
    ['imagefs', asContainerFs(image)],
    ['split', asContainerFs(node)],
  ] as const)('%s: derives all four and appends them', (layout, want) => {
    const given = [...node, ...image, memoryToo];
    const result = withContainerFs(given, layout);
    expect(shown(result.thresholds)).toEqual(shown([...given, ...want]));
    expect(result.replaced).toEqual([]);
  });

  test.each([
    ['one', asContainerFs(node)],
    ['imagefs', asContainerFs(image)],
    ['split', asContainerFs(node)],
  ] as const)('%s: replaces the settings of the user in place', (layout, want) => {
    const result = withContainerFs([...node, ...own, ...image, memoryToo], layout);
    expect(shown(result.thresholds)).toEqual(shown([...node, ...want, ...image, memoryToo]));
    expect(result.replaced).toEqual(ownSignals);
  });

  test('creates nothing where the source has no threshold, and drops what the user set', () => {
    const [hard] = node;
    const [hardOwn, softOwn] = own;
    const given = [hard, hardOwn, softOwn, memoryToo].filter((each) => each !== undefined);
    const result = withContainerFs(given, 'one');
    expect(shown(result.thresholds)).toEqual([
      'nodefs.available < 104857600 for 0, reclaim 1073741824',
      'containerfs.available < 104857600 for 0, reclaim 1073741824',
      'memory.available < 1073741824 for 0, reclaim -',
    ]);
    expect(result.replaced).toEqual(['containerfs.available']);
    expect(withContainerFs([memoryToo], 'imagefs')).toEqual({ thresholds: [memoryToo], replaced: [] });
  });

  test('takes the last of two hard thresholds', () => {
    const twice = [aThreshold('nodefs.available', '1Gi'), aThreshold('nodefs.available', '2Gi')];
    expect(shown(withContainerFs(twice, 'one').thresholds).at(-1)).toBe(
      'containerfs.available < 2147483648 for 0, reclaim -',
    );
  });
});

test.each([
  ['memory.available', 'memory', 'MemoryPressure'],
  ['allocatableMemory.available', 'memory', 'MemoryPressure'],
  ['nodefs.available', 'ephemeral-storage', 'DiskPressure'],
  ['nodefs.inodesFree', 'inodes', 'DiskPressure'],
  ['imagefs.available', 'ephemeral-storage', 'DiskPressure'],
  ['imagefs.inodesFree', 'inodes', 'DiskPressure'],
  ['containerfs.available', 'ephemeral-storage', 'DiskPressure'],
  ['containerfs.inodesFree', 'inodes', 'DiskPressure'],
  ['pid.available', 'pids', 'PIDPressure'],
] as const)('%s is about %s and sets %s', (signal, resource, condition) => {
  expect([resourceOf(signal), conditionOf(signal)]).toEqual([resource, condition]);
});
