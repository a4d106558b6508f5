import { expect, test } from 'vitest';
import { TerminalLog } from './terminal-log.ts';

const cases: readonly (readonly [name: string, text: string, shown: string])[] = [
  ['plain text', 'a\tb\nä 日本\n', 'a\tb\nä 日本\n'],
  ['colours', '\u001b[31mred\u001b[0m', '\u001b[31mred\u001b[0m'],
  ['many colours', '\u001b[1;38;5;200;48;2;1;2;3mx\u001b[m', '\u001b[1;38;5;200;48;2;1;2;3mx\u001b[m'],
  ['concealed text', '\u001b[8mx', '\\x1b[8mx'],
  ['blinking among colours', '\u001b[31;5mx', '\\x1b[31;5mx'],
  ['clearing the screen', '\u001b[2J\u001b[H', '\\x1b[2J\\x1b[H'],
  ['a title', '\u001b]0;t\u0007', '\\x1b]0;t\\x07'],
  ['a carriage return that would overwrite the line', 'good\rbad', 'good\\rbad'],
  ['the one-byte introducer', '\u009b31m', '\\x9b31m'],
  ['bidi overrides', '\u202ex', '\\u202ex'],
  ['joined emoji', '👩\u200d🚒', '👩\u200d🚒'],
  ['an endless sequence', `\u001b[${'1;'.repeat(50)}m`, `\\x1b[${'1;'.repeat(50)}m`],
  ['an unfinished sequence', '\u001b[31', '\\x1b[31'],
  ['brackets behind line breaks', 'a\n[31m\tb\t[0m', 'a\n[31m\tb\t[0m'],
  ['binary', '\u0000\u0001', '\\x00\\x01'],
];
for (const [name, text, shown] of cases)
  test(`${name}, in chunks of any size`, () => {
    const bytes = Buffer.from(text);
    const isColoured = shown.includes('\u001b');
    for (const size of [1, 2, 5, 1000]) {
      const log = new TerminalLog();
      let all = '';
      for (let at = 0; at < bytes.length; at += size) all += log.push(bytes.subarray(at, at + size));
      expect(all + log.end()).toBe(isColoured ? `${shown}\u001b[0m` : shown);
    }
  });

test('bytes that are no UTF-8 are replaced', () => {
  const log = new TerminalLog();
  expect(log.push(Uint8Array.of(0xff, 0x41, 0xc3)) + log.end()).toBe('\ufffdA\ufffd');
});
