import { expect, test } from 'vitest';
import { CpuSet } from './cpu-set.ts';

const texts = [
  ['', []],
  ['0', [0]],
  ['31-32', [31, 32]],
  ['0-3,8', [0, 1, 2, 3, 8]],
  ['63,65,8191', [63, 65, 8191]],
] as const;
for (const [text, ids] of texts)
  test(`parses and prints "${text}"`, () => {
    const set = CpuSet.parse(text);
    expect([set.ids, set.size, set.isEmpty, `${set}`]).toEqual([ids, ids.length, ids.length === 0, text]);
    expect(CpuSet.of(ids.toReversed()).equals(set)).toBe(true);
    expect(ids.every((id) => set.has(id)) && !set.has(5) && !set.has(9000) && !set.has(-1)).toBe(true);
  });

test('prints overlapping and unsorted ranges as the kernel does', () => {
  expect(`${CpuSet.parse('8,1-3,2-4,0,6-6')}`).toBe('0-4,6,8');
});

const malformed = [
  ['a', 'strconv.Atoi: parsing "a": invalid syntax'],
  ['-3', 'strconv.Atoi: parsing "": invalid syntax'],
  ['1-', 'strconv.Atoi: parsing "": invalid syntax'],
  ['1-2-3', 'strconv.Atoi: parsing "2-3": invalid syntax'],
  ['0,', 'strconv.Atoi: parsing "": invalid syntax'],
  [' 1', 'strconv.Atoi: parsing " 1": invalid syntax'],
  ['5-3', 'invalid range "5-3" (5 > 3)'],
  ['8192', 'CPU ID 8192 is out of range'],
  ['0-999999999', 'CPU ID 999999999 is out of range'],
  ['0-8191', 'more than 4096 CPUs'],
  [Array.from({ length: 3000 }, () => '0-4095').join(), 'too long'],
  [Array.from({ length: 2000 }, () => '0-4095').join(), 'out of range'],
] as const;
for (const [text, message] of malformed)
  test(`rejects ${text.slice(0, 20)}: ${message}`, () => expect(() => CpuSet.parse(text)).toThrow(message));

const operations = [
  ['', ''],
  ['0-3', ''],
  ['0-3', '2-5'],
  ['0-3,64', '64'],
  ['64', '0-3,64'],
  ['1,3,5,300', '1,3,5,300'],
] as const;
for (const [one, other] of operations)
  test(`computes with the sets "${one}" and "${other}"`, () => {
    const [a, b] = [CpuSet.parse(one), CpuSet.parse(other)];
    const sets = [a.union(b), a.difference(b), a.intersection(b)].map((set) => [set.ids, set.size]);
    const [x, y] = [new Set(a.ids), new Set(b.ids)];
    const common = a.ids.filter((id) => y.has(id));
    const want = [[...new Set([...x, ...y])], a.ids.filter((id) => !y.has(id)), common].map((ids) => [
      ids.toSorted((left, right) => left - right),
      ids.length,
    ]);
    expect(sets).toEqual(want);
    expect([a.isSubsetOf(b), a.equals(b)]).toEqual([common.length === x.size, one === other]);
    expect(a.difference(b).union(a.intersection(b)).equals(a)).toBe(true);
  });

test('rejects IDs that are no CPU', () => {
  for (const id of [-1, 1.5, Number.NaN, 8192]) expect(() => CpuSet.of([id])).toThrow('out of range');
});
