import { expect, test } from 'vitest';
import { LogLines } from './log-lines.ts';

const log = 'one error\ntwo\n\nerror three\nlast error';

const cases = [
  ['all lines', {}, log],
  ['lines with the text', { grep: 'error' }, 'one error\nerror three\nlast error'],
  ['the text is no regular expression', { grep: 'e.*r' }, ''],
  ['a prefix', { grep: 't', prefix: '[c] ' }, '[c] two\n[c] error three\n[c] last error'],
  ['an empty text fits every line', { grep: '' }, log],
] as const;
for (const [name, options, expected] of cases)
  test(name, () => {
    for (const size of [1, 3, 100]) {
      const lines = new LogLines(options);
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < log.length; at += size)
        pieces.push(lines.push(Buffer.from(log.slice(at, at + size))));
      expect(Buffer.concat([...pieces, lines.end()]).toString()).toBe(expected);
    }
  });

test('an overlong line is judged by its beginning and not held', () => {
  const lines = new LogLines({ grep: 'begin' });
  const mebibyte = Buffer.alloc(1024 * 1024, 'x');
  const long = Buffer.concat([Buffer.from('begin'), mebibyte]);
  expect(lines.push(long)).toHaveLength(long.length);
  expect(lines.push(mebibyte)).toHaveLength(mebibyte.length);
  expect(String(lines.push(Buffer.from('end\nother\n')))).toBe('end\n');
  expect(lines.push(mebibyte)).toHaveLength(0);
  expect(String(lines.push(Buffer.from('begin\nbegin\n')))).toBe('begin\n');
});

test('an endless line is neither held nor searched again, which would take minutes', () => {
  const lines = new LogLines({ grep: `${'a'.repeat(50)}b` });
  const chunk = Buffer.alloc(64 * 1024, 'a');
  let passed = 0;
  for (let i = 0; i < 5_000; i++) passed += lines.push(chunk).length;
  expect(passed).toBe(0);
});
