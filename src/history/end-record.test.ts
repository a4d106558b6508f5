import { expect, test } from 'vitest';
import {
  boundFigures,
  containerEndId,
  type EndRecord,
  lineId,
  maxLineBytes,
  podEndId,
  recordLine,
  truncateText,
} from './end-record.ts';

const record: EndRecord = {
  id: containerEndId('abc'),
  time: '2026-11-15T12:00:00.000Z',
  kind: 'exit',
  namespace: 'default',
  pod: 'p',
  uid: 'u',
  cause: 'Container c completed (exit code 0).',
  figures: { restartCount: 1 },
  reason: 'Completed',
  message: '',
  timeline: [],
  lastLines: ['a', 'b'],
};

test('a line begins with the ID and is the record', () => {
  const line = recordLine(record);
  expect(line.startsWith('{"id":"c/abc",')).toBe(true);
  expect(JSON.parse(line)).toEqual(record);
  expect(lineId(Buffer.from(line))).toBe('c/abc');
});

test('control characters may drop log lines, the newest last, never more', () => {
  const lastLines = Array.from({ length: 20 }, (_, index) => `${index}${'\0'.repeat(1020)}`);
  const line = recordLine({ ...record, lastLines });
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxLineBytes);
  const kept = (JSON.parse(line) as EndRecord).lastLines ?? [];
  expect(kept.length).toBeGreaterThan(2);
  expect(kept.at(-1)).toBe(lastLines.at(-1));
});

test('a record that is too long without log lines keeps its identity', () => {
  const timeline = Array.from({ length: 100 }, () => ({ time: '', what: '\0'.repeat(200) }));
  const line = recordLine({ ...record, timeline });
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(maxLineBytes);
  expect(JSON.parse(line)).toMatchObject({ id: 'c/abc', pod: 'p', timeline: [] });
});

test.each(['', '{"id":"c/a', '{"id":"c/abc","time":"x"', '\0\0\0', '{"kind":"exit"}'])(
  'a torn line has no ID: %j',
  (line) => expect(lineId(Buffer.from(line))).toBeUndefined(),
);

test('an ID contains no character that JSON escapes', () => {
  const id = podEndId('"\\\n\u{1f4a5}\ud800', 'rejected', '"');
  expect(JSON.stringify(id)).toBe(`"${id}"`);
  expect(podEndId('u'.repeat(100_000), 'evicted', 'x').length).toBeLessThan(300);
});

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, '…'],
  ['äöüß', 8, 'äöüß'],
  ['äöüßx', 8, 'äö…'],
  ['\u{1f4a5}\u{1f4a5}', 8, '\u{1f4a5}\u{1f4a5}'],
  ['\u{1f4a5}\u{1f4a5}a', 8, '\u{1f4a5}…'],
])('truncates %j to %i bytes', (text, bytes, want) => {
  expect(truncateText(text, bytes)).toBe(want);
});

test('figures are bounded in number and length', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, 'x'.repeat(1000)]));
  const bounded = boundFigures(many);
  expect(Object.keys(bounded)).toHaveLength(40);
  expect(Buffer.byteLength(String(bounded['f0']))).toBe(256);
});
