import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatPositions, LogPosition, parsePositions, Replay } from './log-position.ts';

const timeOf = (ms: number): string =>
  `${new Date(1_767_225_600_000 + ms).toISOString().slice(0, 23)}000000Z`;

/** The lines that a viewer gets who has seen `seen` of them and resumes. */
function resumed(times: readonly string[], seen: number, first = 0): readonly number[] {
  const position = new LogPosition('id');
  for (const time of times.slice(first, seen)) position.pass({ time });
  const text = formatPositions(new Map([['c', position.saved]]));
  const saved = parsePositions(text).get('c');
  if (saved === undefined) throw new Error(`cannot be parsed: ${text}`);
  const replay = new Replay(saved);
  const since = replay.since ?? '';
  return times.flatMap((time, index) => (time >= since && !replay.drop({ time }).drop ? [index] : []));
}

test('a viewer who reconnects loses and repeats no line, although lines are not in the order of their times', () => {
  const steps = fc.array(fc.record({ stepMs: fc.nat(400), lateMs: fc.nat(900) }), {
    minLength: 2,
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, fc.nat(), (drawn, cut) => {
      let atMs = 0;
      const times = drawn.map(({ lateMs, stepMs }, index) => {
        atMs += stepMs;
        return timeOf(index < 2 ? atMs : Math.max(drawn[0]?.stepMs ?? 0, atMs - lateMs));
      });
      const seen = 1 + (cut % times.length);
      expect(resumed(times, seen)).toEqual(times.map((_, index) => index).slice(seen));
    }),
  );
});

test('lines with the same time are counted', () => {
  const times = [1, 1, 1, 1, 2, 2, 2].map(timeOf);
  for (let seen = 1; seen <= times.length; seen++)
    expect(resumed(times, seen)).toEqual([0, 1, 2, 3, 4, 5, 6].slice(seen));
});

test('a viewer who began with the last lines resumes after them', () => {
  expect(resumed([1, 2, 3, 4, 5].map(timeOf), 4, 2)).toEqual([4]);
});

test('repeats nothing after the beginning of the log was removed', () => {
  const position = new LogPosition('id');
  for (const ms of [10, 20, 30, 40]) position.pass({ time: timeOf(ms) });
  const replay = new Replay(position.saved);
  const rest = [30, 40, 50, 60].filter((ms) => !replay.drop({ time: timeOf(ms) }).drop);
  expect(rest).toEqual([50, 60]);
});

test('continues after the wall clock was set back', () => {
  const position = new LogPosition('id');
  position.pass({ time: timeOf(3_600_000) });
  position.pass({ time: timeOf(0) });
  const replay = new Replay(position.saved);
  expect([0, 1_000].map((ms) => replay.drop({ time: timeOf(ms) }).drop)).toEqual([true, false]);
});

test('the beginning of a log is a position, too', () => {
  const text = formatPositions(new Map([['c', new LogPosition('id').saved]]));
  const saved = parsePositions(text).get('c');
  expect(saved).toEqual({ id: 'id', base: '', count: 0, latest: '' });
  expect(new Replay(saved ?? new LogPosition('').saved)).toMatchObject({ isDone: true, since: undefined });
});

const hostile = [
  '',
  ',,,',
  'c',
  '../../etc/passwd',
  'c/id/notatime/1/x',
  `c/id/${'9'.repeat(30)}/1/`,
  'x'.repeat(100_000),
];
for (const text of hostile) {
  test(`ignores what no kubelet has sent: ${text.slice(0, 30)}`, () => {
    expect([...parsePositions(text)]).toEqual([]);
  });
}
