import { describe, expect, test } from 'vitest';
import { bold, inline, prose, tagged } from './roff.ts';

describe('inline', () => {
  const cases = [
    ['a\\b', 'a\\eb'],
    ['--max-pods', '\\-\\-max\\-pods'],
    ['say "x" ~ ^ `', 'say \\(dqx\\(dq \\(ti \\(ha \\(ga'],
    ['two\n.SH LINES', 'two .SH LINES'],
    ['größe – 1', 'gr\\[u00F6]\\[u00DF]e \\[u2013] 1'],
    ['\u{1F600}', '\\[u1F600]'],
    ['\u0000a\u001b[1m', 'a[1m'],
  ] as const;
  for (const [text, escaped] of cases) test(JSON.stringify(text), () => expect(inline(text)).toBe(escaped));
});

describe('prose', () => {
  const cases = [
    ['.so /etc/shadow', '\\&.so /etc/shadow\n'],
    ["'br", "\\&'br\n"],
    ['a\n.so b', 'a .so b\n'],
    [`${'x'.repeat(76)} .so b`, `${'x'.repeat(76)}\n\\&.so b\n`],
  ] as const;
  for (const [text, escaped] of cases)
    test(JSON.stringify(text.slice(-20)), () => expect(prose(text)).toBe(escaped));
});

test('a term with an explanation of several lines', () => {
  expect(tagged(bold('-v'), 'One.', '', 'Two.')).toBe('.TP\n\\fB\\-v\\fR\nOne.\n.br\nTwo.\n');
});
