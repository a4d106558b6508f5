// HTTP/2 as raw frames, valid and invalid, for fuzz tests of the secure port. RFC 9113, RFC 7541.
import * as fc from 'fast-check';
import { mutated, pieced } from './raw-clients.ts';

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

const types = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
const endStream = 0x1;
const ack = 0x1;
const endHeaders = 0x4;

function frame(type: number, flags: number, stream: number, payload: Uint8Array, length = payload.length) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length & 0xff_ff_ff, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, payload]);
}

/** A literal header field without indexing; name and value are shorter than 127 bytes. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name, 'latin1'),
    Buffer.from([value.length]),
    Buffer.from(value, 'latin1'),
  ]);
}

/** The pseudo-headers of a request: method, scheme https, path, authority. */
function headerBlock(path: string, method: 'GET' | 'POST' = 'GET'): Buffer {
  const indexed = Buffer.from([method === 'GET' ? 0x82 : 0x83, 0x87]);
  return Buffer.concat([indexed, literal(':path', path), literal(':authority', 'x')]);
}

const none = Buffer.alloc(0);
const settings = frame(types.settings, 0, 0, none);
const greeting = Buffer.concat([preface, settings]);
const get = (stream: number, path = '/'): Buffer =>
  frame(types.headers, endHeaders | endStream, stream, headerBlock(path));
const post = (stream: number, path = '/echo'): Buffer =>
  frame(types.headers, endHeaders, stream, headerBlock(path, 'POST'));
const repeat = (count: number, make: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));

const conversations = [
  Buffer.concat([greeting, get(1)]),
  Buffer.concat([
    greeting,
    get(1, '/stream'),
    get(3, '/long'),
    frame(types.rstStream, 0, 3, Buffer.alloc(4, 8)),
  ]),
  Buffer.concat([greeting, post(1), frame(types.data, endStream, 1, Buffer.from('hello'))]),
  Buffer.concat([greeting, post(1), frame(types.data, 0, 1, Buffer.from('no end'))]),
  Buffer.concat([
    greeting,
    frame(types.settings, ack, 0, none),
    frame(types.ping, 0, 0, Buffer.alloc(8)),
    frame(types.windowUpdate, 0, 0, Buffer.from([0, 1, 0, 0])),
    frame(types.priority, 0, 1, Buffer.from([0, 0, 0, 0, 9])),
    frame(types.headers, endStream, 1, headerBlock('/').subarray(0, 5)),
    frame(types.continuation, endHeaders, 1, headerBlock('/').subarray(5)),
    frame(types.goaway, 0, 0, Buffer.alloc(8)),
  ]),
];

/**
 * Blocks that no encoder emits: indexes beyond the tables, endless integers and lengths, invalid Huffman codes, odd
 * fields.
 */
const oddBlocks = [
  Buffer.from([0x80]),
  Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
  Buffer.from([0x3f, 0xff, 0xff, 0xff, 0xff, 0x0f]),
  Buffer.from([0x00, 0x7f, 0xff, 0xff, 0xff, 0x7f]),
  Buffer.from([0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00]),
  Buffer.from([0xbe]),
  Buffer.concat([headerBlock('/'), Buffer.alloc(5_000, 0x82)]),
  Buffer.concat([headerBlock('/'), literal(':status', '200')]),
  Buffer.concat([headerBlock('/'), literal('connection', 'upgrade')]),
  Buffer.concat([headerBlock('/'), literal('transfer-encoding', 'chunked')]),
  Buffer.concat([headerBlock('/'), literal('content-length', '-1')]),
  Buffer.concat([headerBlock('/echo', 'POST'), literal('content-length', '99999999')]),
  Buffer.concat([headerBlock('/'), literal('Upper', 'x')]),
  Buffer.concat([headerBlock('/'), literal('nul', '\0\r\n')]),
  Buffer.concat([headerBlock('/'), literal('cookie', 'a=b'), literal('host', 'y'), literal('te', 'gzip')]),
  Buffer.concat([literal(':method', 'CONNECT'), literal(':authority', 'x')]),
  Buffer.concat([literal(':method', 'CONNECT'), literal(':protocol', 'websocket'), headerBlock('/')]),
  Buffer.concat([literal(':method', '__proto__'), literal(':path', '*'), literal(':scheme', 'x')]),
  headerBlock(''),
  headerBlock('pods'),
  headerBlock('http://other/\xff%zz'),
];

const payload = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(headerBlock('/'), headerBlock('/echo', 'POST'), headerBlock('/long')),
  },
  { weight: 3, arbitrary: fc.constantFrom(...oddBlocks) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 64 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(none, Buffer.alloc(4), Buffer.alloc(6), Buffer.alloc(8), Buffer.alloc(17_000)),
  },
);

const anyFrame = fc
  .record({
    type: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...Object.values(types)) },
      fc.integer({ min: 0, max: 255 }),
    ),
    flags: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0x25, 0x2d) },
      fc.integer({ min: 0, max: 255 }),
    ),
    stream: fc.constantFrom(0, 1, 1, 1, 2, 3, 3, 5, 7, 0x7f_ff_ff_ff, 0xff_ff_ff_ff),
    payload,
    wrong: fc.option(fc.constantFrom(-1, 1, 8, 0xff_ff_ff), { freq: 6 }),
  })
  .map(({ flags, payload: body, stream, type, wrong }) =>
    frame(type, flags, stream, body, wrong === null ? body.length : Math.max(0, body.length + wrong)),
  );

/** Conversations with an HTTP/2 server: mutated ones, and frames in random order. */
export const http2Inputs: fc.Arbitrary<readonly Buffer[]> = pieced(
  fc.oneof(
    { weight: 3, arbitrary: mutated(conversations) },
    { weight: 1, arbitrary: fc.constantFrom(...conversations) },
    {
      weight: 6,
      arbitrary: fc
        .array(anyFrame, { minLength: 1, maxLength: 12 })
        .map((frames) => Buffer.concat([greeting, ...frames])),
    },
  ),
);

export const oddRequests: readonly Buffer[] = oddBlocks.map((block) =>
  Buffer.concat([greeting, frame(types.headers, endHeaders | endStream, 1, block), get(3)]),
);

const windowOf = (bytes: number): Buffer => {
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(4, 0);
  setting.writeUInt32BE(bytes, 2);
  return frame(types.settings, 0, 0, setting);
};

export const floods: readonly (readonly [string, Buffer])[] = [
  ['PING', repeat(3_000, () => frame(types.ping, 0, 0, Buffer.alloc(8)))],
  ['SETTINGS', repeat(3_000, () => settings)],
  ['SETTINGS that change the window', repeat(3_000, (index) => windowOf(index))],
  ['acknowledgements', repeat(3_000, () => frame(types.settings, ack, 0, none))],
  ['WINDOW_UPDATE', repeat(3_000, () => frame(types.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1])))],
  [
    'PRIORITY',
    repeat(3_000, (index) => frame(types.priority, 0, index * 2 + 1, Buffer.from([0, 0, 0, 0, 9]))),
  ],
  ['frames of an unknown type', repeat(3_000, () => frame(99, 0, 0, none))],
  ['empty DATA', Buffer.concat([post(1), repeat(3_000, () => frame(types.data, 0, 1, none))])],
  [
    'CONTINUATION',
    Buffer.concat([
      frame(types.headers, endStream, 1, headerBlock('/')),
      repeat(3_000, () => frame(types.continuation, 0, 1, literal('a', 'b'))),
    ]),
  ],
  [
    'requests that are reset at once',
    repeat(1_500, (index) => Buffer.concat([get(index * 2 + 1), reset(index * 2 + 1)])),
  ],
  ['requests beyond the allowed streams', repeat(500, (index) => post(index * 2 + 1))],
  [
    'responses without a window',
    Buffer.concat([windowOf(0), repeat(8, (index) => get(index * 2 + 1, '/long'))]),
  ],
  ['a stream without a window', Buffer.concat([windowOf(0), get(1, '/stream')])],
  [
    'an oversized frame during an unfinished request',
    Buffer.concat([post(1), frame(types.data, 0, 1, none, 0xff_ff_ff)]),
  ],
  ['GOAWAY', repeat(1_000, () => frame(types.goaway, 0, 0, Buffer.alloc(8)))],
].map(([name, frames]) => [name as string, Buffer.concat([greeting, frames as Buffer])]);

function reset(stream: number): Buffer {
  return frame(types.rstStream, 0, stream, Buffer.from([0, 0, 0, 8]));
}

const grpcCall = (stream: number, path: string, ...more: readonly Buffer[]): Buffer =>
  frame(
    types.headers,
    endHeaders,
    stream,
    Buffer.concat([headerBlock(path, 'POST'), literal('content-type', 'application/grpc'), ...more]),
  );
const grpcData = (stream: number, body: readonly number[], flags: number = endStream): Buffer =>
  frame(types.data, flags, stream, Buffer.from(body));

/** Valid and invalid calls of a service with these paths: a unary method and one that streams. */
function grpcConversations(unary: string, stream: string): readonly Buffer[] {
  const request = [0, 0, 0, 0, 3, 0x0a, 1, 0x61];
  return [
    [grpcCall(1, unary), grpcData(1, request)],
    [grpcCall(1, unary, literal('grpc-timeout', '100m')), grpcData(1, request)],
    [grpcCall(1, stream), grpcData(1, [0, 0, 0, 0, 0]), grpcCall(3, unary), grpcData(3, request)],
    [windowOf(0), grpcCall(1, stream), grpcData(1, [0, 0, 0, 0, 0])],
    [grpcCall(1, unary, literal('grpc-timeout', '-1S')), grpcData(1, request)],
    [grpcCall(1, unary, literal('grpc-encoding', 'gzip')), grpcData(1, request)],
    [grpcCall(1, unary), grpcData(1, [1, 0, 0, 0, 1, 0])],
    [grpcCall(1, unary), grpcData(1, [0, 0xff, 0xff, 0xff, 0xff, 0])],
    [grpcCall(1, unary), grpcData(1, [0, 0, 0])],
    [grpcCall(1, unary), grpcData(1, [...request, ...request])],
    [grpcCall(1, unary), ...request.map((byte) => grpcData(1, [byte], 0)), grpcData(1, [])],
    [grpcCall(1, unary), grpcData(1, request, 0)],
    [grpcCall(1, unary), grpcData(1, request), reset(1)],
  ].map((frames) => Buffer.concat([greeting, ...frames]));
}

/** Conversations with a gRPC server: mutated ones, and what breaks any HTTP/2 server. */
export function grpcInputs(unary: string, stream: string): fc.Arbitrary<readonly Buffer[]> {
  const calls = grpcConversations(unary, stream);
  return fc.oneof(
    { weight: 5, arbitrary: pieced(mutated(calls)) },
    { weight: 2, arbitrary: pieced(fc.constantFrom(...calls)) },
    { weight: 4, arbitrary: http2Inputs },
  );
}
