import { expect, test } from 'vitest';
import { EventParser } from './event-parser.ts';

const text =
  ': \n\nevent: containers\ndata: []\n\nid: 7\ndata: {"a":1}\ndata: {"a":2}\n\n: \n\nevent: end\ndata:{}\n\nid: 8\ndata: x';
const want = [
  { event: 'containers', id: '', data: ['[]'] },
  { event: 'message', id: '7', data: ['{"a":1}', '{"a":2}'] },
  { event: 'end', id: '7', data: ['{}'] },
];

test('parses events wherever the pieces are split', () => {
  for (let size = 1; size <= text.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    expect(events).toEqual(want);
  }
});

test('gives up on a message without an end', () => {
  const parser = new EventParser();
  expect(() => {
    for (let index = 0; index < 100; index++) parser.push('x'.repeat(100_000));
  }).toThrow('without an end');
});
