import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addMs, type LogLine, LogText, maxLineBytes } from './log-text.ts';

const time = '2026-01-01T00:00:01.000000001Z';

function linesOf(pieces: readonly Uint8Array[]): readonly LogLine[] {
  const text = new LogText();
  const lines: LogLine[] = [];
  for (const piece of pieces) {
    text.push(piece);
    for (let line = text.next(); line !== undefined; line = text.next()) lines.push(line);
  }
  const last = text.finish();
  return last === undefined ? lines : [...lines, last];
}

function piecesOf(bytes: Buffer, size: number): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

test('splits lines wherever the pieces are split', () => {
  const bytes = Buffer.from(`${time} one\n${time} \n${time} zwölf <b>\u001b[1m\n${time} unfinished`);
  const want = ['one', '', 'zwölf <b>\u001b[1m', 'unfinished'].map((text) => ({ time, text, cut: false }));
  for (let size = 1; size <= bytes.length; size++) expect(linesOf(piecesOf(bytes, size))).toEqual(want);
});

test('cuts a long line, and continues with the next one', () => {
  const long = 'x'.repeat(3 * maxLineBytes);
  const bytes = Buffer.from(`${time} ${long}\n${time} next\n${time} ${'y'.repeat(maxLineBytes)}\n`);
  for (const size of [100, 4_096, maxLineBytes, bytes.length]) {
    expect(linesOf(piecesOf(bytes, size))).toEqual([
      { time, text: 'x'.repeat(maxLineBytes), cut: true },
      { time, text: 'next', cut: false },
      { time, text: 'y'.repeat(maxLineBytes), cut: false },
    ]);
  }
});

test('returns a line without an end once, and keeps nothing of its rest', () => {
  const text = new LogText();
  text.push(Buffer.from(`${time} ${'x'.repeat(2 * maxLineBytes)}`));
  expect(text.next()?.cut).toBe(true);
  for (let index = 0; index < 100; index++) {
    text.push(Buffer.alloc(maxLineBytes, 'z'));
    expect(text.next()).toBeUndefined();
    expect(text.isInLongLine).toBe(true);
  }
  expect(text.finish()).toBeUndefined();
});

test('bytes that are not UTF-8 become U+FFFD', () => {
  expect(linesOf([Buffer.concat([Buffer.from(`${time} a`), Buffer.from([0xff, 0x00, 0x0a])])])).toEqual([
    { time, text: 'a\ufffd\u0000', cut: false },
  ]);
});

test('times in another zone become UTC', () => {
  const [line] = linesOf([Buffer.from('2026-01-01T02:00:00.123456789+02:00 x\n')]);
  expect(line?.time).toBe('2026-01-01T00:00:00.123456789Z');
});

test('accepts any bytes, in pieces of any size', () => {
  const drawn = fc.tuple(fc.uint8Array({ maxLength: 500 }), fc.integer({ min: 1, max: 50 }));
  fc.assert(
    fc.property(drawn, ([bytes, size]) => {
      const whole = linesOf([bytes]);
      expect(linesOf(piecesOf(Buffer.from(bytes), size))).toEqual(whole);
    }),
  );
});

test('addMs keeps the nanoseconds', () => {
  expect(addMs('2026-01-01T00:00:00.000000001Z', -1)).toBe('2025-12-31T23:59:59.999000001Z');
});
