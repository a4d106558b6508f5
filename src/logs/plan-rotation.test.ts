import { describe, expect, test } from 'vitest';
import { computeRotation, computeUpkeep, type LogEntry, quietMs } from './plan-rotation.ts';

const nowMs = Date.UTC(2026, 10, 18, 13, 0, 0);

function entries(...names: readonly string[]): readonly LogEntry[] {
  return names.map((name) => ({
    name: name === 'live' ? '0.log' : `0.log.${name}`,
    identity: name,
    changedAtMs: nowMs - 60_000,
  }));
}

const folder = (names: readonly string[], maxFiles: number) => ({
  live: '0.log',
  entries: entries(...names),
  maxFiles,
  nowMs,
});
const short = (names: readonly string[]): readonly string[] =>
  names.map((name) => name.slice('0.log.'.length));

describe('computeRotation', () => {
  const a = '20261118-100000';
  const b = '20261118-110000';
  const c = '20261118-120000';
  const cases = [
    ['the first rotation removes nothing', ['live'], 5, []],
    ['fewer files than allowed', ['live', `${a}.gz`, b], 5, []],
    ['maxFiles - 2 rotated files stay', ['live', `${a}.gz`, `${b}.gz`, c], 5, []],
    ['the oldest go first', [c, 'live', `${b}.gz`, `${a}.gz`], 3, [`${a}.gz`, `${b}.gz`]],
    ['maxFiles 2 keeps none of the older files', ['live', `${a}.gz`, b], 2, [`${a}.gz`, b]],
    ['maxFiles 1, which is invalid, keeps none either', ['live', a], 1, [a]],
    ['a temporary file is removed', ['live', a, `${a}.tmp`], 5, [`${a}.tmp`]],
    ['a file that was compressed already is removed', ['live', a, `${a}.gz`, b], 5, [a]],
    ['strays do not count', ['live', a, `${a}.gz`, `${b}.tmp`, `${b}.gz`, c], 5, [a, `${b}.tmp`]],
    ['files that no kubelet named stay', ['live', '1', 'bak', 'gz', 'tmp', `${a}x`], 2, []],
    ['numbered rotations are in order', ['live', `${a}_001`, `${a}.gz`, `${a}_002`], 4, [`${a}.gz`]],
  ] as const;
  for (const [name, names, maxFiles, remove] of cases)
    test(name, () => expect(short(computeRotation(folder(names, maxFiles)).remove)).toEqual(remove));

  test('names the rotated file by the time, after all others', () => {
    expect(computeRotation(folder(['live', `${a}.gz`], 5)).renameTo).toBe('0.log.20261118-130000');
    expect(computeRotation(folder(['live', '20261118-130000.gz'], 5)).renameTo).toBe(
      '0.log.20261118-130000_001',
    );
    // Also after those that are removed.
    expect(computeRotation(folder(['live', '20261118-140000'], 2)).renameTo).toBe(
      '0.log.20261118-140000_001',
    );
  });

  test('keeps the temporary file of a compression in progress', () => {
    const busy = { ...folder(['live', a, `${a}.tmp`, `${b}.tmp`], 5), compressing: `0.log.${a}` };
    expect(short(computeRotation(busy).remove)).toEqual([`${b}.tmp`]);
  });

  test('removes the second name that an interrupted rename back left', () => {
    const twice = folder(['live', a, b], 5);
    const linked = twice.entries.map((each) => (each.identity === b ? { ...each, identity: 'live' } : each));
    expect(short(computeRotation({ ...twice, entries: linked }).remove)).toEqual([b]);
  });
});

describe('computeUpkeep', () => {
  const a = '20261118-100000';
  const b = '20261118-110000';
  const c = '20261118-120000';
  const cases = [
    ['nothing', ['live'], 5, [], undefined],
    ['the newest rotated file stays plain', ['live', a], 5, [], undefined],
    ['the oldest plain file is next', ['live', a, b, c], 5, [], a],
    ['compressed ones are passed over', ['live', `${a}.gz`, b, c], 5, [], b],
    ['files beyond maxFiles go', ['live', `${a}.gz`, b, c], 3, [`${a}.gz`], b],
    ['maxFiles 2 keeps one plain file', ['live', a, b], 2, [a], undefined],
    ['without a current file the newest stays plain too', [a, b], 5, [], a],
    ['strays are removed', ['live', `${a}.tmp`, `${a}.gz`, a, b], 5, [`${a}.tmp`, a], undefined],
  ] as const;
  for (const [name, names, maxFiles, remove, compress] of cases)
    test(name, () => {
      const plan = computeUpkeep(folder(names, maxFiles));
      expect(short(plan.remove)).toEqual(remove);
      expect(plan.compress).toBe(compress === undefined ? undefined : `0.log.${compress}`);
      expect(plan.againInMs).toBeUndefined();
    });

  const ages = [
    ['an unchanged file', quietMs, undefined],
    ['a file that changed a moment ago waits', 300, quietMs - 300],
    ['a file of the next millisecond waits', -1, quietMs + 1],
    ['a file from before the clock was set back', -3_600_000, undefined],
  ] as const;
  for (const [name, ageMs, againInMs] of ages)
    test(name, () => {
      const all = folder(['live', a, b], 5);
      const aged = all.entries.map((each) => ({ ...each, changedAtMs: nowMs - ageMs }));
      const plan = computeUpkeep({ ...all, entries: aged });
      expect(plan.againInMs).toBe(againInMs);
      expect(plan.compress).toBe(againInMs === undefined ? `0.log.${a}` : undefined);
    });
});
