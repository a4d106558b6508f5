import { expect, test } from 'vitest';
import { parseAnsi, shownText } from './ansi.ts';

const shown = (line: string): string =>
  parseAnsi(line)
    .map(({ classes, text }) => (classes === '' ? text : `[${classes}|${text}]`))
    .join('');

const cases: readonly (readonly [name: string, line: string, want: string])[] = [
  ['plain text', 'hello', 'hello'],
  ['nothing', '', ''],
  ['HTML is text', '<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['a colour and its end', '\u001b[31mred\u001b[0m!', '[ansi-fg-1|red]!'],
  [
    'an empty parameter is a reset',
    '\u001b[1;4;97;40mx\u001b[my',
    '[ansi-bold ansi-underline ansi-fg-15 ansi-bg-0|x]y',
  ],
  ['one of 256 colours', '\u001b[38;5;9mx\u001b[38;5;200my', '[ansi-fg-9|x]y'],
  ['RGB is dropped with its parameters', '\u001b[38;2;1;4;7mx', 'x'],
  ['inverse', '\u001b[7mx\u001b[27my', '[ansi-inverse|x]y'],
  ['cursor movements are removed', 'a\u001b[2J\u001b[10;10Hb', 'ab'],
  ['titles and clipboard commands are removed', 'a\u001b]52;c;eA==\u0007b\u001b]0;t\u001b\\c', 'abc'],
  ['character sets are removed', '\u001b(Ba', 'a'],
  ['an incomplete sequence is shown', 'a\u001b]52;c;eA==', 'a\u241b]52;c;eA=='],
  ['an incomplete colour is shown', 'a\u001b[31', 'a\u241b[31'],
  ['controls are shown', 'a\u0000b\u0008c\u007f', 'a\u2400b\u2408c\u2421'],
  ['the carriage return of a line break is removed', 'a\rb\r', 'a\u240db'],
  ['tabs are kept', 'a\tb', 'a\tb'],
  ['characters that reorder text are shown', 'a\u202eb\u200bc\ufeff', 'a\\u202eb\\u200bc\\ufeff'],
  ['C1 controls are shown', '\u009b31mx', '\\u009b31mx'],
];
for (const [name, line, want] of cases) {
  test(`parseAnsi: ${name}`, () => {
    expect(shown(line)).toBe(want);
    expect(shownText(line)).toBe(
      parseAnsi(line)
        .map(({ text }) => text)
        .join(''),
    );
  });
}

test('parseAnsi: hostile lines take linear time', () => {
  for (const part of ['\u001b[', '\u001b]', '\u001b[1;', '\u001b[1m', '\u001b', '\u0000', '\u001b]\u001b']) {
    const startMs = performance.now();
    parseAnsi(part.repeat(16_384 / part.length));
    expect(performance.now() - startMs).toBeLessThan(200);
  }
});
