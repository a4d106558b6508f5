import { expect, test } from 'vitest';
import { lastLines } from './last-lines.ts';

const stamp = '2026-11-15T12:00:00.123456789Z';
const raw = (text: string, whole = true) => ({ bytes: Buffer.from(text), whole });
const full = (text: string): string => `${stamp} stdout F ${text}\n`;
const part = (text: string): string => `${stamp} stderr P ${text}\n`;

const cases: readonly (readonly [string, ReturnType<typeof raw>, readonly string[]])[] = [
  ['an empty log', raw(''), []],
  ['lines of both streams', raw(full('a') + `${stamp} stderr F b\n`), ['a', 'b']],
  ['more lines than wanted', raw(full('a') + full('b') + full('c') + full('d')), ['b', 'c', 'd']],
  ['parts of one line', raw(part('a') + part('b') + full('c') + full('d')), ['abc', 'd']],
  ['a part without its end', raw(full('a') + part('b')), ['a', 'b']],
  ['an empty line', raw(full('a') + full('') + full('b')), ['a', '', 'b']],
  ['spaces are content', raw(full('  a b ')), ['  a b ']],
  ['the first line is cut off', raw(`out F a\n${full('b')}`, false), ['b']],
  ['only one line, cut off', raw('xyz', false), ['xyz']],
  ['another format', raw('{"log":"x"}\nplain\n'), ['{"log":"x"}', 'plain']],
  ['tags after the first', raw(`${stamp} stdout P:x a\n${full('b')}`), ['ab']],
];

test.each(cases)('the last 3 lines of %s', (_name, tail, lines) => {
  expect(lastLines(tail, 3)).toEqual(lines);
});

test('binary output becomes text, and a huge line is truncated', () => {
  const bytes = Buffer.concat([
    Buffer.from(`${stamp} stdout F `),
    Buffer.from([0, 0xff, 0xfe, 0x1b]),
    Buffer.from('\n'),
    Buffer.from(full('x'.repeat(16_000))),
  ]);
  const [first, second] = lastLines({ bytes, whole: true }, 20);
  expect(first).toBe('\0��\x1b');
  expect(second).toBe(`${'x'.repeat(1021)}…`);
});
