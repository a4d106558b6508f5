// golden/upstream-decisions.json: random cases with the answers of upstream's code (v1.37.0-rc.1), drawn from 20,000 of each kind that
// were compared. n: NUMA nodes of the machine, d: nodes of each device, h: healthy, u: in use, o: own, r: reusable devices,
// q: request, p: pod scope, m: nodes of the hint, a: available, f: preferred answer, k: question (available, must include, size),
// x: answer, e: error.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NumaNodes } from '../topology/numa-nodes.ts';
import { computeDevicePick, computeDevicePlan, splitByAffinity } from './device-allocation.ts';
import { computeDeviceHints, type DeviceTable } from './device-hints.ts';

interface Common {
  readonly n: readonly number[];
  readonly d: readonly (readonly number[] | null)[];
}
interface HintCase extends Common {
  readonly h: readonly number[];
  readonly u: readonly number[];
  readonly o: readonly number[];
  readonly r: readonly number[];
  readonly q: number;
  readonly p: number;
  readonly x: readonly (readonly [readonly number[], number])[] | null;
}
interface AffinityCase extends Common {
  readonly a: readonly number[];
  readonly m: readonly number[] | null;
  readonly x: readonly (readonly string[] | null)[];
}
interface PickCase extends Common {
  readonly h: readonly number[];
  readonly u: readonly number[];
  readonly r: readonly number[];
  readonly m: readonly number[] | null;
  readonly q: number;
  readonly f: readonly string[] | null;
  readonly k: readonly number[] | null;
  /** How many are reused, preferred, aligned, unaligned, without topology. */
  readonly x: readonly number[] | null;
  readonly e: string;
}

const goldens: {
  readonly hints: readonly HintCase[];
  readonly affinity: readonly AffinityCase[];
  readonly allocations: readonly PickCase[];
} = JSON.parse(readFileSync(new URL('golden/upstream-decisions.json', import.meta.url), 'utf8'));

const id = (index: number): string => `d${String(index).padStart(2, '0')}`;
const tableOf = ({ d }: Common): DeviceTable =>
  new Map(d.map((nodes, index) => [id(index), { numaNodes: nodes ?? undefined }]));
const machine = ({ n }: Common): NumaNodes => new NumaNodes(n.map((each) => ({ id: each })));
const maskOf = (nodes: NumaNodes, ids: readonly number[] | null): number | undefined =>
  ids === null ? undefined : nodes.maskOf(ids);
const freeOf = (h: readonly number[], u: readonly number[]): readonly string[] =>
  h.filter((each) => !u.includes(each)).map(id);
const sorted = (hints: readonly unknown[] | undefined): readonly string[] | undefined =>
  hints?.map((each) => JSON.stringify(each)).toSorted();

test(`gives upstream's hints in ${goldens.hints.length} cases`, () => {
  for (const each of goldens.hints) {
    const nodes = machine(each);
    const got = computeDeviceHints({
      devices: tableOf(each),
      own: each.o.map(id),
      available: freeOf(each.h, each.u),
      reusable: each.p === 1 ? [] : each.r.map(id),
      request: each.q,
      nodes,
    });
    const plain = got?.map(({ mask, preferred }) => [nodes.idsOf(mask ?? 0), preferred ? 1 : 0]);
    expect(sorted(plain), JSON.stringify(each)).toEqual(sorted(each.x ?? undefined));
  }
});

test(`splits devices by affinity as upstream in ${goldens.affinity.length} cases`, () => {
  for (const each of goldens.affinity) {
    const nodes = machine(each);
    const split = splitByAffinity(
      { devices: tableOf(each), mask: maskOf(nodes, each.m), nodes },
      each.a.map(id),
    );
    const got = [split.aligned, split.unaligned, split.unplaced];
    expect(got, JSON.stringify(each)).toEqual(each.x.map((list) => list ?? []));
  }
});

/** Null if upstream's random order decides between kinds of devices. */
function pickCounts(
  each: PickCase,
): readonly [readonly number[] | null, readonly number[] | null, string] | null {
  const nodes = machine(each);
  const [devices, mask, available] = [tableOf(each), maskOf(nodes, each.m), freeOf(each.h, each.u)];
  if (each.h.length === 0) return null;
  try {
    const plan = computeDevicePlan({
      resource: 'example.com/r',
      required: each.q,
      reusable: each.r.map(id),
      available,
      devices,
      mask,
      nodes,
    });
    const asked = each.f === null ? undefined : plan.question;
    const preferred = asked === undefined ? [] : (each.f ?? []);
    const surplus = preferred.filter((one) => plan.choices.has(one) && !plan.taken.includes(one)).length;
    if (surplus > each.q - plan.taken.length) return null;
    const picked = computeDevicePick(plan, preferred);
    const rest = picked.filter((one) => !each.r.map(id).includes(one));
    const among = (list: readonly string[]): number => rest.filter((one) => list.includes(one)).length;
    const { aligned, unaligned, unplaced } = splitByAffinity({ devices, mask, nodes }, available);
    return [
      [picked.length - rest.length, among(preferred), among(aligned), among(unaligned), among(unplaced)],
      asked === undefined ? null : [asked.available.length, asked.mustInclude.length, asked.size],
      '',
    ];
  } catch (err) {
    return [null, null, (err as Error).message];
  }
}

test(`picks devices and asks plugins as upstream in ${goldens.allocations.length} cases`, () => {
  for (const each of goldens.allocations) {
    const got = pickCounts(each);
    if (got !== null) expect(got, JSON.stringify(each)).toEqual([each.x, each.k, each.e]);
  }
});

const nodes = new NumaNodes([{ id: 0 }, { id: 1 }]);
const devices: ReadonlyMap<string, { readonly numaNodes: readonly number[] | undefined }> = new Map([
  ['a', { numaNodes: [0] }],
  ['b', { numaNodes: [0] }],
  ['c', { numaNodes: [1] }],
  ['d', { numaNodes: undefined }],
]);
const base: Omit<Parameters<typeof computeDevicePlan>[0], 'required'> = {
  resource: 'r/r',
  reusable: [],
  available: ['a', 'b', 'c', 'd'],
  devices,
  mask: undefined,
  nodes,
};
const picks = [
  ['takes devices in the order of their IDs', { ...base, required: 2 }, [], ['a', 'b']],
  ['takes what the plugin prefers', { ...base, required: 2 }, ['d', 'c'], ['c', 'd']],
  [
    'ignores unknown, duplicate and surplus IDs',
    { ...base, required: 2 },
    ['x', 'c', 'c', 'd', 'a'],
    ['c', 'd'],
  ],
  [
    'ignores preferred devices that another pod uses',
    { ...base, available: ['a', 'b'], required: 1 },
    ['c'],
    ['a'],
  ],
  [
    'reuses devices of init containers first',
    { ...base, reusable: ['x', 'y'], required: 3 },
    [],
    ['a', 'x', 'y'],
  ],
  ['takes aligned devices before preferred ones', { ...base, mask: 2, required: 2 }, ['a'], ['a', 'c']],
  ['prefers among aligned devices only', { ...base, mask: 1, required: 1 }, ['c', 'b'], ['b']],
  ['takes devices without topology last', { ...base, mask: 2, required: 3 }, [], ['a', 'b', 'c']],
] as const;
for (const [name, question, preferred, want] of picks)
  test(name, () => {
    expect(computeDevicePick(computeDevicePlan(question), preferred)).toEqual(want);
  });

test('asks with the reused devices and the whole request', () => {
  const plan = computeDevicePlan({ ...base, reusable: ['x'], mask: 1, required: 2 });
  expect(plan.question).toEqual({ available: ['a', 'b', 'x'], mustInclude: ['x'], size: 2 });
  expect(computeDevicePlan({ ...base, mask: 1, required: 2 }).question).toBeUndefined();
});

test('rejects a request for more devices than available', () => {
  expect(() => computeDevicePlan({ ...base, reusable: ['x'], required: 6 })).toThrow(
    'requested number of devices unavailable for r/r. Requested: 5, Available: 4',
  );
});

test('computes hints for 10,000 devices on 16 nodes', () => {
  const wide = new NumaNodes(Array.from({ length: 16 }, (_, index) => ({ id: index })));
  const many: DeviceTable = new Map(
    Array.from({ length: 10_000 }, (_, index) => [
      `d${index}`,
      { numaNodes: [index % 16, (index * 7) % 16] },
    ]),
  );
  const available = [...many.keys()];
  const hints = computeDeviceHints({
    devices: many,
    own: [],
    available,
    reusable: [],
    request: 8_000,
    nodes: wide,
  });
  expect(hints?.length).toBeGreaterThan(1_000);
});
