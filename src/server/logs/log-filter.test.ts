import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FilterOptions, LogFilter, maxLineBytes } from './log-filter.ts';

const all: FilterOptions = {
  timestamps: false,
  since: undefined,
  limitBytes: undefined,
  stdout: true,
  stderr: true,
};
const t1 = '2024-01-01T00:00:01.000000001Z';
const t2 = '2024-01-01T00:00:02.5Z';
const t3 = '2024-01-01T00:00:03+01:00';
const seconds1 = Date.parse('2024-01-01T00:00:01Z') / 1000;

function filtered(input: string | Buffer, over: Partial<FilterOptions> = {}, pieceBytes = 7): Buffer {
  const filter = new LogFilter({ ...all, ...over });
  const bytes = Buffer.from(input);
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    out.push(filter.push(Buffer.from(bytes.subarray(at, at + pieceBytes))));
  }
  out.push(filter.finish());
  return Buffer.concat(out);
}

const twoStreams = `${t1} stdout F out 1\n${t2} stderr F err 1\n${t2} stdout F out 2\n`;
const cut = `${t1} stdout P ab\n${t2} stdout P cd\n${t2} stdout F ef\n${t2} stdout F next\n`;
const json = `{"log":"one\\n","stream":"stdout","time":"${t1}"}\n{"log":"two\\n","stream":"stderr","time":"${t2}"}\n`;

const cases: readonly (readonly [name: string, input: string, over: Partial<FilterOptions>, want: string])[] =
  [
    ['strips headers', twoStreams, {}, 'out 1\nerr 1\nout 2\n'],
    ['selects stderr', twoStreams, { stdout: false }, 'err 1\n'],
    ['selects stdout', twoStreams, { stderr: false }, 'out 1\nout 2\n'],
    [
      'adds timestamps with nine decimals',
      `${twoStreams}${t3} stdout F x\n`,
      { timestamps: true },
      `${t1} out 1\n2024-01-01T00:00:02.500000000Z err 1\n2024-01-01T00:00:02.500000000Z out 2\n2024-01-01T00:00:03.000000000+01:00 x\n`,
    ],
    [
      'adds timestamps that are longer than the stripped header',
      '2024-01-01T00:00:01Z stdout F a\n2024-01-01T00:00:02Z stdout F b\n2024-01-01T00:00:03Z stdout P c\n',
      { timestamps: true },
      '2024-01-01T00:00:01.000000000Z a\n2024-01-01T00:00:02.000000000Z b\n2024-01-01T00:00:03.000000000Z c',
    ],
    ['does not accept zero bytes as a time', `${'\0'.repeat(19)}Z stdout F x\n${t1} stdout F y\n`, {}, 'y\n'],
    ['joins split lines', cut, {}, 'abcdef\nnext\n'],
    [
      'adds one timestamp to a joined line, that of its beginning',
      cut,
      { timestamps: true },
      `${t1} abcdef\n2024-01-01T00:00:02.500000000Z next\n`,
    ],
    ['ignores further tags', `${t1} stdout P:x ab\n${t1} stdout F:y cd\n`, {}, 'abcd\n'],
    [
      'since: includes that very nanosecond',
      twoStreams,
      { since: { seconds: seconds1, nanos: 1 } },
      'out 1\nerr 1\nout 2\n',
    ],
    [
      'since: excludes the nanosecond before',
      twoStreams,
      { since: { seconds: seconds1, nanos: 2 } },
      'err 1\nout 2\n',
    ],
    [
      'since within a split line: its rest without a timestamp',
      cut,
      { since: { seconds: seconds1 + 1, nanos: 0 }, timestamps: true },
      'cdef\n2024-01-01T00:00:02.500000000Z next\n',
    ],
    ['limitBytes truncates exactly', twoStreams, { limitBytes: 8 }, 'out 1\ner'],
    ['limitBytes at the end of a line', twoStreams, { limitBytes: 6 }, 'out 1\n'],
    ['limitBytes counts timestamps', twoStreams, { limitBytes: 33, timestamps: true }, `${t1} ou`],
    ['limitBytes counts only the selected stream', twoStreams, { limitBytes: 8, stderr: false }, 'out 1\nou'],
    ['keeps an empty line', `${t1} stdout F \n${t1} stdout F x\n`, {}, '\nx\n'],
    ['keeps a last line without newline', `${t1} stdout F a\n${t1} stdout F b`, {}, 'a\nb'],
    ['keeps a split line at the end', `${t1} stdout F a\n${t1} stdout P b\n`, {}, 'a\nb'],
    [
      'skips invalid lines',
      `garbage\n${t1} stdout\n${t1} stdlog F x\n${t1} stdout F\n\nnever stdout F x\n${t1} stdout F good\n`,
      {},
      'good\n',
    ],
    ['Docker’s JSON', json, {}, 'one\ntwo\n'],
    ['Docker’s JSON with times and one stream', json, { timestamps: true, stderr: false }, `${t1} one\n`],
    [
      'Docker’s JSON: split lines, escapes, no time, invalid lines',
      `{"log":"a","stream":"stdout","time":"${t1}"}\n{"log":"\\u00e9\\n","stream":"stdout"}\n{"log":"x\\n"}\n{"log":5,"stream":"stdout"}\n{"log":\n{"log":"z\\n","stream":"stdout","time":"never"}\n`,
      {},
      'aé\n',
    ],
  ];

for (const [name, input, over, want] of cases) {
  test(`LogFilter: ${name}`, () => {
    expect(filtered(input, over, 7).toString()).toBe(want);
    expect(filtered(input, over, 1_000_000).toString()).toBe(want);
  });
}

describe('LogFilter', () => {
  test('keeps binary bytes unchanged', () => {
    const binary = Buffer.from([0, 255, 254, 13, 128, 27, 9, 195]);
    const line = Buffer.concat([Buffer.from(`${t1} stdout F `), binary, Buffer.from('\n')]);
    expect(filtered(line, {}, 3)).toEqual(Buffer.concat([binary, Buffer.from('\n')]));
  });

  test('passes an overlong line on in pieces without loss', () => {
    const long = 'x'.repeat(3 * maxLineBytes);
    const input = `${t1} stdout F ${long}\n${t1} stdout P ${long}\n${t1} stdout F end\n${t1} stderr F e\n`;
    const want = `${long}\n${long}end\n`;
    expect(filtered(input, { stderr: false }, 65_536).toString() === want).toBe(true);
    const filter = new LogFilter(all);
    const piece = Buffer.alloc(65_536, 'y'.repeat(100));
    filter.push(Buffer.from(`${t1} stdout F `));
    let most = 0;
    for (let at = 0; at < 64; at++) most = Math.max(most, filter.push(piece).length);
    expect(most).toBeLessThan(2 * maxLineBytes);
  });

  test('skips an overlong line that is invalid or not selected', () => {
    const long = 'x'.repeat(maxLineBytes + 5);
    const input = `${long}\n{"log":"${long}\n${t1} stderr F ${long}\n${t1} stdout F good\n`;
    expect(filtered(input, { stderr: false }, 65_536).toString()).toBe('good\n');
  });

  test('drops an incomplete line after a truncation', () => {
    const filter = new LogFilter(all);
    filter.push(Buffer.from(`${t1} stdout F lost`));
    filter.restart();
    expect(Buffer.from(filter.push(Buffer.from(`${t1} stdout F new\n`))).toString()).toBe('new\n');
  });

  test('has the same result for any pieces', () => {
    const line = fc.record({
      partial: fc.boolean(),
      stderr: fc.boolean(),
      text: fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.filter((byte) => byte !== 10)),
    });
    fc.assert(
      fc.property(
        fc.array(line),
        fc.integer({ min: 1, max: 90 }),
        fc.nat(200),
        (lines, pieceBytes, limit) => {
          const raw = lines.map(({ partial, stderr, text }) =>
            Buffer.concat([
              Buffer.from(`${t1} ${stderr ? 'stderr' : 'stdout'} ${partial ? 'P' : 'F'} `),
              text,
              Buffer.from('\n'),
            ]),
          );
          const naive = Buffer.concat(
            lines
              .filter(({ stderr }) => !stderr)
              .flatMap(({ partial, text }) => [text, Buffer.from(partial ? '' : '\n')]),
          ).subarray(0, limit + 1);
          const got = filtered(Buffer.concat(raw), { stderr: false, limitBytes: limit + 1 }, pieceBytes);
          expect(got.equals(naive)).toBe(true);
        },
      ),
    );
  });
});
