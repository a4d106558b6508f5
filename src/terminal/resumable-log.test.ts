import { expect, test } from 'vitest';
import { ResumableLog } from './resumable-log.ts';

const time = (ns: number): string => `2026-01-01T00:00:00.${String(ns).padStart(9, '0')}Z`;

interface Line {
  readonly ns: number;
  readonly text: string;
}
/** The server's part: lines since a time, with their times. */
function serve(lines: readonly Line[], since: string | undefined): Buffer {
  const shown = lines.filter(({ ns }) => since === undefined || time(ns) >= since);
  return Buffer.from(shown.map(({ ns, text }) => `${time(ns)} ${text}\n`).join(''));
}
const textOf = (lines: readonly Line[]): string => lines.map(({ text }) => `${text}\n`).join('');

const many: readonly Line[] = [
  { ns: 1, text: 'a' },
  { ns: 2, text: 'same' },
  { ns: 2, text: 'same' },
  { ns: 2, text: '' },
  { ns: 9, text: 'stdout, written before' },
  { ns: 8, text: 'stderr, written after' },
  { ns: 10, text: 'x'.repeat(50) },
  { ns: 11, text: 'end ä' },
];

test('removes the times, or keeps them', () => {
  expect(String(new ResumableLog({ timestamps: false }).push(serve(many, undefined)))).toBe(textOf(many));
  const kept = serve(many, undefined);
  expect(String(new ResumableLog({ timestamps: true }).push(kept))).toBe(String(kept));
});

test('nothing printed: the next connection begins as the first one', () =>
  expect(new ResumableLog({ timestamps: false }).resume()).toBeUndefined());

for (const timestamps of [false, true])
  test(`prints every line once, wherever connections break (timestamps: ${timestamps})`, () => {
    const whole = serve(many, undefined);
    const expected = timestamps ? String(whole) : textOf(many);
    for (let first = 0; first <= whole.length; first++)
      for (let second = 0; second <= whole.length; second += 7) {
        const log = new ResumableLog({ timestamps });
        let printed = Buffer.from(log.push(whole.subarray(0, first)));
        const again = serve(many, log.resume());
        printed = Buffer.concat([printed, log.push(again.subarray(0, second))]);
        printed = Buffer.concat([printed, log.push(serve(many, log.resume()))]);
        expect(String(printed)).toBe(expected);
      }
  });

test('chunks may be of any size', () => {
  const log = new ResumableLog({ timestamps: false });
  const whole = serve(many, undefined);
  expect(Buffer.concat([...whole].map((byte) => log.push(Uint8Array.of(byte)))).toString()).toBe(
    textOf(many),
  );
});

test('an earlier line that was not printed, as before --tail, is printed late rather than another one twice', () => {
  const log = new ResumableLog({ timestamps: false });
  const [early, late] = [
    { ns: 9, text: 'early' },
    { ns: 8, text: 'late' },
  ];
  let text = String(log.push(serve([late], undefined)));
  text += String(log.push(serve([early, late, { ns: 12, text: 'new' }], log.resume())));
  expect(text).toBe('late\nearly\nnew\n');
});

test('lines that are written with an earlier time after the break are printed', () => {
  const log = new ResumableLog({ timestamps: false });
  const before = [
    { ns: 1, text: 'a' },
    { ns: 9, text: 'b' },
  ];
  const printed = String(log.push(serve(before, undefined)));
  const after = [...before, { ns: 8, text: 'late' }];
  expect(printed + String(log.push(serve(after, log.resume())))).toBe('a\nb\nlate\n');
});

test('a broken line whose rest is gone ends', () => {
  const log = new ResumableLog({ timestamps: false });
  log.push(Buffer.from(`${time(5)} half of`));
  log.resume();
  expect(String(log.push(serve([{ ns: 6, text: 'next' }], undefined)))).toBe('\nnext\n');
});

test('state is bounded, and no line is printed twice after very many', () => {
  const log = new ResumableLog({ timestamps: false });
  const lines = Array.from({ length: 20_000 }, (_, at) => ({ ns: at, text: `${at}` }));
  let text = String(log.push(serve(lines, undefined)));
  const since = log.resume() ?? '';
  expect(since > time(15_000)).toBe(true);
  text += String(log.push(serve([...lines, { ns: 30_000, text: 'new' }], since)));
  expect(text).toBe(`${textOf(lines)}new\n`);
});

test('times of different zones are compared as instants', () => {
  const log = new ResumableLog({ timestamps: false });
  log.push(Buffer.from('2026-03-29T01:59:59.000000000+01:00 a\n2026-03-29T03:00:01.000000000+02:00 b\n'));
  expect(log.resume()).toBe('2026-03-29T01:59:59.000000000+01:00');
});
