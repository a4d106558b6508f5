import { expect, test } from 'vitest';
import { sensitiveForms, withoutSecrets } from './sensitive.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');

const cases: readonly (readonly [string, string, string, string])[] = [
  ['the decoded value', 'hunter2', 'login as hunter2 failed', 'login as *** failed'],
  ['the base64 value', 'hunter2', `bad ${encoded('hunter2')}!`, 'bad ***!'],
  ['the value without its line end', 'hunter2\n', 'no hunter2', 'no ***'],
  ['the value as JSON', 'a"b\\c', 'got a\\"b\\\\c', 'got ***'],
  ['a line of a key', 'BEGIN KEY\nabcdefghijkl\nEND', 'line abcdefghijkl', 'line ***'],
  ['every occurrence', 'hunter2', 'hunter2hunter2', '******'],
  ['a text without secrets', 'hunter2', 'no disk', 'no disk'],
  ['a value that is too short to be one', 'a', 'a disk failed', 'a disk failed'],
  ['characters of regular expressions and replacements', '$&.*', 'x $&.* y', 'x *** y'],
];
for (const [name, secret, text, want] of cases)
  test(`withoutSecrets: ${name}`, () => {
    expect(withoutSecrets(text, sensitiveForms([encoded(secret)]))).toBe(want);
  });

test('withoutSecrets shows nothing when removing all secrets would take too long', () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `secret line ${at}`).join('\n');
  const text = withoutSecrets('secret line 7 '.repeat(4_000), sensitiveForms([encoded(lines)]));
  expect(text).toBe('withheld, because the volume has too many secrets to remove them');
});
