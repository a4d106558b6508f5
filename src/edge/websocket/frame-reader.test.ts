// Frames of real and hostile clients, split at every byte.
import { PassThrough } from 'node:stream';
import { array, assert, nat, oneof, property, string, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { effort } from '../../../test/effort.ts';
import { FrameReader, WebSocketError } from './frame-reader.ts';
import { closeFrame, messageHeader, pingFrame, pongFrame } from './frame-writer.ts';
import { WebSocketStream } from './web-socket-stream.ts';

/** A client's frame, masked. */
function frame(first: number, payload: string | Buffer, mask = [1, 2, 3, 4]): Buffer {
  const bytes = Buffer.from(payload);
  const header = messageHeader(bytes.length);
  header[0] = first;
  header[1] = (header[1] ?? 0) | 0x80;
  return Buffer.concat([header, Buffer.from(mask), bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

/** What a reader reports: messages with their pieces joined, pings and the end. */
function report(chunks: readonly Buffer[]): readonly string[] {
  const seen: string[] = [];
  let message = '';
  const reader = new FrameReader({
    data: (piece, { binary, first, last }) => {
      if (first) message = binary ? 'binary:' : 'text:';
      message += piece.toString('latin1');
      if (last) seen.push(message);
    },
    ping: (payload) => seen.push(`ping:${payload}`),
    close: (code) => seen.push(`close:${code}`),
  });
  try {
    for (const chunk of chunks) reader.read(Buffer.from(chunk));
  } catch (err) {
    if (!(err instanceof WebSocketError)) throw err;
    seen.push(`${err.code} ${err.message}`);
  }
  return seen;
}

const cases: readonly (readonly [string, Buffer[], string[]])[] = [
  ['a message', [frame(0x82, 'abc')], ['binary:abc']],
  ['an empty message', [frame(0x82, '')], ['binary:']],
  [
    'fragments with a ping between them',
    [frame(1, 'a'), frame(0x89, 'x'), frame(0, ''), frame(0x80, 'b')],
    ['ping:x', 'text:ab'],
  ],
  ['empty fragments', [frame(2, ''), frame(0, ''), frame(0x80, '')], ['binary:']],
  ['a long message', [frame(0x82, 'y'.repeat(70_000))], [`binary:${'y'.repeat(70_000)}`]],
  [
    'a close frame, and nothing after it',
    [frame(0x88, Buffer.from([3, 0xe8])), frame(0x82, 'x')],
    ['close:1000'],
  ],
  ['an empty close frame', [frame(0x88, '')], ['close:undefined']],
  ['a close code of one byte', [frame(0x88, 'x')], ['1002 the close code is incomplete']],
  ['a frame without a mask', [Buffer.from([0x82, 1, 65])], ['1002 the frame is not masked']],
  ['compression that was not negotiated', [frame(0xc2, 'a')], ['1002 reserved bits are set']],
  ['an unknown opcode', [frame(0x83, 'a')], ['1002 unknown opcode']],
  ['an unknown control opcode', [frame(0x8b, 'a')], ['1002 unknown opcode']],
  ['a fragmented ping', [frame(9, 'a')], ['1002 invalid control frame']],
  ['a long ping', [frame(0x89, 'a'.repeat(126))], ['1002 invalid control frame']],
  ['a continuation of nothing', [frame(0x80, 'a')], ['1002 a fragment is out of order']],
  ['a message within a message', [frame(2, 'a'), frame(2, 'b')], ['1002 a fragment is out of order']],
  [
    'a length beyond all bounds',
    [Buffer.from([0x82, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0])],
    ['1002 the frame is too long'],
  ],
];

test.each(cases)('reads %s', (_name, chunks, want) => {
  const bytes = Buffer.concat(chunks);
  expect(report([bytes])).toEqual(want);
  if (bytes.length < 1000) expect(report([...bytes].map((byte) => Buffer.from([byte])))).toEqual(want);
});

test('holds nothing of an endless message', () => {
  let bytes = 0;
  const reader = new FrameReader({
    data: (piece) => (bytes += piece.length),
    ping: () => undefined,
    close: () => undefined,
  });
  reader.read(Buffer.from([0x82, 0xff, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
  for (let at = 0; at < 100; at++) reader.read(Buffer.alloc(65_536));
  expect(bytes).toBe(100 * 65_536);
});

test('reports the same however the bytes are split, and only WebSocketErrors for garbage', () => {
  const part = oneof(
    string({ maxLength: 300 }).map((text) => frame(0x82, text)),
    string({ maxLength: 20 }).map((text) => frame(0x89, text)),
    uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  );
  assert(
    property(array(part, { maxLength: 8 }), array(nat(200), { maxLength: 20 }), (parts, cuts) => {
      const bytes = Buffer.concat(parts);
      const chunks: Buffer[] = [];
      let at = 0;
      for (const cut of [...cuts, bytes.length]) {
        chunks.push(bytes.subarray(at, at + cut));
        at += cut;
      }
      expect(report(chunks)).toEqual(report([bytes]));
    }),
    { numRuns: effort(100, 2_000) },
  );
});

test('encodes frames of every length', () => {
  expect([125, 126, 65_535, 65_536].map((length) => messageHeader(length).toString('hex'))).toEqual([
    '827d',
    '827e007e',
    '827effff',
    '827f0000000000010000',
  ]);
  expect([pingFrame(), pongFrame(Buffer.from('a')), closeFrame(1000), closeFrame(undefined)]).toEqual(
    ['8900', '8a0161', '880203e8', '8800'].map((hex) => Buffer.from(hex, 'hex')),
  );
});

test('a stream passes backpressure on to the socket and does not pile up pongs', async () => {
  const socket = new PassThrough({ highWaterMark: 16 });
  const sent: Buffer[] = [];
  socket.write = ((chunk: Buffer, done?: () => void) => {
    sent.push(chunk);
    done?.();
    return true;
  }) as typeof socket.write;
  const stream = new WebSocketStream(socket, Buffer.alloc(0));
  socket.emit('data', frame(0x82, Buffer.alloc(100_000)));
  expect(socket.isPaused()).toBe(true);
  Object.defineProperty(socket, 'writableNeedDrain', { value: true });
  for (let at = 0; at < 1000; at++) socket.emit('data', frame(0x89, 'x'));
  expect(sent).toEqual([]);
  stream.resume();
  await expect.poll(() => socket.isPaused()).toBe(false);
  stream.destroy();
});
