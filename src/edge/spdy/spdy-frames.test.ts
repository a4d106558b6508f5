// Frames of a streaming server, split at every byte; frames of the client, as a Go server decodes them.
import { constants, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { dataHeader, endFrame, pingFrame, resetFrame, SpdyReader, synStreamFrame } from './spdy-frames.ts';

function report(chunks: readonly Buffer[]): readonly string[] {
  const seen: string[] = [];
  const data = new Map<number, string>();
  const reader = new SpdyReader({
    data: (id, piece) => data.set(id, `${data.get(id) ?? ''}${piece}`),
    ended: (id, how) => seen.push(`${id} ${how} ${data.get(id) ?? ''}`),
    replied: (id) => seen.push(`${id} replied`),
    ping: (id) => seen.push(`ping ${id}`),
  });
  for (const chunk of chunks) reader.read(chunk);
  return seen;
}

const reply = (id: number, flags: number): Buffer =>
  Buffer.concat([Buffer.from([0x80, 3, 0, 2, flags, 0, 0, 11, 0, 0, 0, id]), Buffer.from('headers')]);
const settings = Buffer.from([0x80, 3, 0, 4, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 9]);
const shortPing = Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 0]);

test('reads frames however they are split, and skips unknown and incomplete ones', () => {
  const bytes = Buffer.concat([
    reply(1, 0),
    reply(3, 1),
    settings,
    shortPing,
    dataHeader(1, 2, false),
    Buffer.from('ab'),
    dataHeader(1, 1, true),
    Buffer.from('c'),
    dataHeader(5, 0, true),
    pingFrame(2),
    resetFrame(7),
    endFrame(),
  ]);
  const want = [
    '1 replied',
    '3 replied',
    '3 finished ',
    '1 finished abc',
    '5 finished ',
    'ping 2',
    '7 reset ',
  ];
  expect(report([bytes])).toEqual(want);
  expect(report([...bytes].map((byte) => Buffer.from([byte])))).toEqual(want);
});

test('refuses another version', () => {
  expect(() => report([Buffer.from([0x80, 2, 0, 6, 0, 0, 0, 0])])).toThrow('unsupported SPDY version');
});

test('opens streams with header blocks that are flushed and continue one compression', () => {
  const frames = [
    synStreamFrame(1, { streamtype: 'error' }, true),
    synStreamFrame(3, { streamtype: 'stdin' }, false),
  ];
  const compressed = Buffer.concat(frames.map((frame) => frame.subarray(18)));
  expect(compressed.subarray(0, 6).toString('hex')).toBe('78bbe3c6a7c2');
  const plain = inflateRawSync(compressed.subarray(6), { finishFlush: constants.Z_SYNC_FLUSH });
  const block = (value: string): Buffer =>
    Buffer.concat([Buffer.from('\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05'), Buffer.from(value)]);
  expect(plain).toEqual(Buffer.concat([block('error'), block('stdin')]));
  for (const frame of frames) expect(frame.readUInt32BE(4) & 0xffffff).toBe(frame.length - 8);
  expect(frames[1]?.subarray(-5).toString('hex')).toBe('000000ffff');
});
