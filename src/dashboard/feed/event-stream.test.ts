import { expect, test } from 'vitest';
import { boundText, encodeEvent } from './event-stream.ts';

test.each([
  '\n',
  '\r',
  '\r\n',
  '\n\nevent: bye\ndata: {}\n\n',
  '\u2028',
  '\u2029',
  '\u0000',
  '\ud800',
  '\u0085',
])('the text %j does not end a line', (why) => {
  const text = new TextDecoder().decode(encodeEvent('bye', { why, retryMs: 1 }));
  expect(text.split(/\r\n|\n|\r/)).toEqual([
    'event: bye',
    `data: ${JSON.stringify({ why, retryMs: 1 })}`,
    '',
    '',
  ]);
});

test('a text is bounded with an ellipsis', () => {
  expect([boundText('abc', 3), boundText('abcd', 3)]).toEqual(['abc', 'ab…']);
});
