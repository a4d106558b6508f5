import { expect, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { parseEnvFile } from './env-file.ts';

/** `=value` of the key, `-` if it is missing, or the syntax error. */
function find(text: string | Buffer, key = 'K'): string {
  const { fault, values } = parseEnvFile(typeof text === 'string' ? Buffer.from(text) : text, [key]);
  const value = values.get(key);
  if (value !== undefined) return `=${Buffer.from(value).toString('latin1')}`;
  return fault?.replace('invalid environment variable format ', '') ?? '-';
}

test.each([
  ['', '-'],
  ["K='v'", '=v'],
  ["K='v'\n", '=v'],
  ["K='v'\r\n", '=v'],
  [" \t K='v'", '=v'],
  ["\n \t\n\r\n# K='c'\n  # c\nK='v'", '=v'],
  ["J='x'\nK='v'", '=v'],
  ["K='first'\nK='second'", '=first'],
  ["K=''", '='],
  ["K='a=b # $X \\' # comment", '=a=b # $X \\'],
  ["K='v'   # comment", '=v'],
  ["K='v'# comment 'quoted'", '=v'],
  ["K='one\ntwo\n\n  three'\n", '=one\ntwo\n\n  three'],
  ["K='one\r\ntwo'", '=one\ntwo'],
  ["K='one\rtwo'", '=one\rtwo'],
  ["K= 'v'", '='],
  ['K=\t', '='],
  ["J= no matter\nK='v'", '=v'],
  ["KK='v'\nk='v'", '-'],
  ["a b='v'\nK='v'", '=v'],
  ["K='v'\nbroken", '=v'],
  ['broken', "at line 1: missing '='"],
  ["# c\n\nbroken\nK='v'", "at line 3: missing '='"],
  ["='v'", 'at line 1: empty variable name'],
  [" \t='v'", 'at line 1: empty variable name'],
  ["K ='v'", "at line 1: whitespace before '=' is not allowed"],
  ["K\t='v'", "at line 1: whitespace before '=' is not allowed"],
  ['K=v', 'at line 1: value must be enclosed in single quotes'],
  ['K="v"', 'at line 1: value must be enclosed in single quotes'],
  ['K=', 'at line 1: value must be enclosed in single quotes'],
  ["export K='v'", '-'],
  ["J='x'\nK='v", 'starting at line 2: unclosed single quote'],
  ["K='v'x", 'at line 1: unexpected content after closing quote'],
  ["K='v' 'w'", 'at line 1: unexpected content after closing quote'],
  ["J='a\nb' x\nK='v'", 'at line 2: unexpected content after closing quote'],
  ["K='v' \\\nx", 'at line 1: unexpected content after closing quote'],
])('%j', (text, want) => {
  expect(find(text)).toBe(want);
});

test('keeps bytes that are not UTF-8, and finds keys that are', () => {
  expect(find(Buffer.from([75, 61, 39, 0xff, 0x00, 0xfe, 39]))).toBe('=\xff\x00\xfe');
  expect(find("schlüssel='v'", 'schlüssel')).toBe('=v');
});

test("accepts lines of upstream's limit and rejects longer ones", () => {
  const line = (length: number): string => `K='${'x'.repeat(length - 4)}'`;
  expect(find(`${line(65_535)}\n`)).toMatch(/^=x+$/);
  expect(find(`${line(65_536)}\n`)).toBe('at line 1: the line is too long');
  expect(find(`K='v'\n${'y'.repeat(70_000)}`)).toBe('=v');
  expect(find(`J='\n${'y'.repeat(70_000)}'\nK='v'`)).toBe('starting at line 1: unclosed single quote');
});

test('finds several keys in one pass', () => {
  const { fault, values } = parseEnvFile(Buffer.from("A='1'\nB='2'\nC='3'\nbroken"), ['C', 'A', 'C']);
  expect([[...values.keys()], fault]).toEqual([['A', 'C'], undefined]);
});

test.each([
  ["A=''\n".repeat(50_000)],
  ['\n'.repeat(256 * 1024)],
  [`A='${'\n'.repeat(256 * 1024)}`],
  [`${' '.repeat(60_000)}\n`.repeat(4)],
  ["'".repeat(256 * 1024)],
])('parses hostile text in linear time', (text) => {
  const data = Buffer.from(text);
  const startedMs = realClock.monotonic();
  parseEnvFile(data, ['Z']);
  expect(realClock.monotonic() - startedMs).toBeLessThan(1_000);
});
