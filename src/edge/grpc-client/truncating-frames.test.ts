import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExecSyncResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { GrpcError } from './grpc-error.ts';
import { FrameReader, frame, maxMessageBytes } from './grpc-frames.ts';
import { TruncatingFrameReader } from './truncating-frames.ts';
import { WireReader } from './wire-reader.ts';

const seed = 18;

function encode(response: Partial<ExecSyncResponse>): Buffer {
  return frame(ExecSyncResponse.encode(ExecSyncResponse.fromPartial(response)).finish());
}

function inPieces(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

describe('TruncatingFrameReader', () => {
  const bytes = fc.uint8Array({ maxLength: 400 }).map((each) => Buffer.from(each));

  test('truncates each field of a message, in whatever chunks it arrives', () => {
    fc.assert(
      fc.property(
        bytes,
        bytes,
        fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 1, max: 64 }),
        (stdout, stderr, exitCode, keep, size) => {
          const reader = new TruncatingFrameReader(keep);
          const messages = inPieces(encode({ stdout, stderr, exitCode }), size).flatMap((each) =>
            reader.push(each),
          );
          expect(messages.map((each) => ExecSyncResponse.decode(new WireReader(each)))).toEqual([
            { stdout: stdout.subarray(0, keep), stderr: stderr.subarray(0, keep), exitCode },
          ]);
          expect(reader.isWhole).toBe(true);
        },
      ),
      { seed, numRuns: 300 },
    );
  });

  test('buffers no more than keepBytes', () => {
    const reader = new TruncatingFrameReader(100);
    const [header, ...rest] = inPieces(
      encode({ stderr: Buffer.alloc(8 * 1024 * 1024, ' '), exitCode: 1 }),
      16_384,
    );
    expect(reader.push(header ?? Buffer.alloc(0))).toEqual([]);
    const [message] = rest.flatMap((each) => reader.push(each));
    expect(message).toHaveLength(104);
  });

  test('passes unknown fields through', () => {
    const unknown = Buffer.from([0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2d, 1, 2, 3, 4, 0x32, 2, 9, 9, 0x18, 7]);
    expect(new TruncatingFrameReader(10).push(frame(unknown))).toEqual([unknown]);
  });

  const faulty: readonly (readonly [string, Buffer, string])[] = [
    [
      'a message beyond the limit',
      Buffer.from([0, 1, 0, 0, 1]),
      `larger than max (${maxMessageBytes + 1} vs`,
    ],
    ['a compressed message', Buffer.from([1, 0, 0, 0, 0]), 'compressed'],
    ['a field longer than its message', frame(Buffer.from([0x0a, 0x7f, 1])), 'not valid protobuf'],
    ['a varint without end', frame(Buffer.alloc(12, 0xff)), 'not valid protobuf'],
    ['a varint that is cut off', frame(Buffer.from([0x18, 0x80])), 'not valid protobuf'],
    ['a group', frame(Buffer.from([0x0b])), 'not valid protobuf'],
    ['too many fields', frame(Buffer.alloc(4_000, Buffer.from([0x18, 1]))), 'not valid protobuf'],
  ];
  test.each(faulty)('rejects %s', (_name, message, want) => {
    expect(() => new TruncatingFrameReader(10).push(message)).toThrow(want);
  });
});

describe('garbage', () => {
  const readers = [
    ['FrameReader', () => new FrameReader()],
    ['TruncatingFrameReader', () => new TruncatingFrameReader(16)],
  ] as const;
  // Mostly frames, so that the bytes after a header are reached.
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
    fc.uint8Array({ maxLength: 40 }).map((each) => frame(each)),
    fc.constantFrom(
      Buffer.from([0, 0, 255, 255, 255]),
      Buffer.from([0, 255, 255, 255, 255]),
      Buffer.alloc(0),
    ),
  );
  test.each(readers)(
    '%s yields messages or throws a GrpcError; decoding them throws at most an Error',
    (_name, make) => {
      fc.assert(
        fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
          const reader = make();
          const sent = pieces.reduce((sum, each) => sum + each.length, 0);
          let messages: readonly Buffer[] = [];
          try {
            messages = pieces.flatMap((each) => reader.push(each));
          } catch (err) {
            expect(err).toBeInstanceOf(GrpcError);
          }
          expect(messages.reduce((sum, each) => sum + each.length, 0)).toBeLessThanOrEqual(sent);
          for (const each of messages) {
            try {
              ExecSyncResponse.decode(new WireReader(each));
            } catch (err) {
              expect(err).toBeInstanceOf(Error);
            }
          }
        }),
        { seed, numRuns: 2_000 },
      );
    },
  );
});
