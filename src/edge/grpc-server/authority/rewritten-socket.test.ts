// Real HTTP/2 clients in front of the rewriter, and raw frames as older gRPC clients send them.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, createServer, type Http2Server } from 'node:http2';
import { connect, createServer as createNetServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../../test/leaks/leaks.ts';
import { RewrittenSocket } from './rewritten-socket.ts';

type Headers = Readonly<Record<string, unknown>>;

let dir: string;
let leaks: LeakCheck;
let net: Server;
let http2: Http2Server;
let received: Headers[];
const sockets = new Set<Socket>();

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'authority-'));
  received = [];
  http2 = createServer();
  http2.on('sessionError', () => undefined);
  http2.on('stream', (stream, headers) => {
    received.push(headers);
    stream.on('error', () => undefined);
    stream.on('data', () => undefined);
    stream.respond({ ':status': 200 });
    stream.end('answer');
  });
  net = createNetServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    http2.emit('connection', new RewrittenSocket(socket));
  });
  net.listen(join(dir, 's'));
  await once(net, 'listening');
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => net.close(resolve));
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const endOfAll = 0x5;

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field with a new name; `indexed`: added to the table. */
function literal(name: string, value: string, indexed = false): Buffer {
  return Buffer.concat([
    Buffer.from([indexed ? 0x40 : 0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

const method = literal(':method', 'POST');
const others = [literal(':scheme', 'http'), literal(':path', '/a.B/C'), literal('te', 'trailers')];
const settings = frame(4, 0, 0, Buffer.alloc(0));

/** Sends the bytes and returns the types of the received frames, once there are at least this many of a stream. */
async function exchange(bytes: Buffer, pieceBytes = bytes.length): Promise<readonly number[]> {
  const socket = connect(join(dir, 's'));
  await once(socket, 'connect');
  let got = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    got = Buffer.concat([got, chunk]);
  });
  socket.on('error', () => undefined);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    socket.write(bytes.subarray(at, at + pieceBytes));
    if (pieceBytes < bytes.length) await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => typesOf(got).some((type) => answers.has(type)), { timeout: 3_000 }).toBe(true);
  socket.destroy();
  return typesOf(got).filter((type) => answers.has(type));
}

/** DATA, RST_STREAM, GOAWAY. */
const answers = new Set([0, 3, 7]);

function typesOf(bytes: Buffer): readonly number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3] ?? -1);
  return types;
}

const request = (...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([preface, settings, frame(1, endOfAll, 1, Buffer.concat([method, ...others, ...fields]))]);

const authorities = [
  'localhost',
  '/var/lib/kubelet/device-plugins/kubelet.sock',
  'unix:///var/lib/kubelet/device-plugins/kubelet.sock',
  'passthrough:///unix:///a.sock',
  '',
  'a b',
];
for (const authority of authorities)
  test(`serves a request with the authority "${authority}"`, async () => {
    const bytes = Buffer.concat([preface, settings, frame(1, endOfAll, 1, block(authority))]);
    expect(await exchange(bytes)).toContain(0);
    expect(received[0]).toMatchObject({ ':authority': 'localhost', ':path': '/a.B/C', te: 'trailers' });
  });

function block(authority: string, indexed = false): Buffer {
  const [scheme, path, te] = others as [Buffer, Buffer, Buffer];
  return Buffer.concat([method, scheme, path, literal(':authority', authority, indexed), te]);
}

test('serves a request without an authority', async () => {
  expect(await exchange(request())).toContain(0);
  expect(received[0]?.[':authority']).toBe('localhost');
});

test('serves a request that arrives byte by byte', async () => {
  const bytes = Buffer.concat([preface, settings, frame(1, endOfAll, 1, block('/a.sock'))]);
  expect(await exchange(bytes, 1)).toContain(0);
});

test('serves a header block in several frames, with padding and priority', async () => {
  const whole = block('/a.sock');
  const first = Buffer.concat([
    Buffer.from([3, 0, 0, 0, 0, 7]),
    whole.subarray(0, 20),
    Buffer.from([0, 0, 0]),
  ]);
  const frames = [
    frame(1, 0x1 | 0x8 | 0x20, 1, first),
    frame(9, 0, 1, whole.subarray(20, 30)),
    frame(9, 0x4, 1, whole.subarray(30)),
  ];
  expect(await exchange(Buffer.concat([preface, settings, ...frames]))).toContain(0);
});

test('follows the table of a client that adds the authority to it', async () => {
  const first = Buffer.concat([method, ...others.slice(0, 2), literal(':authority', '/a.sock', true)]);
  // 62 is the newest entry of the dynamic table.
  const second = Buffer.concat([method, ...others.slice(0, 2), Buffer.from([0x80 | 62])]);
  await exchange(
    Buffer.concat([preface, settings, frame(1, endOfAll, 1, first), frame(1, endOfAll, 3, second)]),
  );
  await expect.poll(() => received.map((each) => each[':authority'])).toEqual(['localhost', 'localhost']);
});

const invalid: readonly (readonly [string, Buffer, number])[] = [
  ['an index that does not exist ends the connection', Buffer.from([0xff, 0x80, 0x01]), 7],
  ['a block that ends inside a text ends the connection', Buffer.from([0x00, 0x05, 0x61]), 7],
  ['an endless integer ends the connection', Buffer.alloc(30, 0xff), 7],
  ['a table that is larger than allowed ends the connection', Buffer.from([0x3f, 0xe2, 0x7f]), 7],
  ['invalid Huffman code ends the connection', Buffer.from([0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x00]), 7],
  ['a request without a path is reset', Buffer.concat([method, literal(':scheme', 'http')]), 3],
];
for (const [name, bytes, answer] of invalid)
  test(`invalid: ${name}`, async () => {
    expect(await exchange(Buffer.concat([preface, settings, frame(1, endOfAll, 1, bytes)]))).toContain(
      answer,
    );
    expect(received).toEqual([]);
  });

test('a block that refers to a long entry thousands of times is reset without being expanded', async () => {
  const long = literal('x', 'y'.repeat(100), true);
  const bytes = Buffer.concat([method, ...others, long, Buffer.alloc(8_000, 0x80 | 62)]);
  expect(await exchange(Buffer.concat([preface, settings, frame(1, endOfAll, 1, bytes)]))).toContain(3);
  expect(received).toEqual([]);
});

test('passes every other header unchanged, however the client compresses it', async () => {
  const session: ClientHttp2Session = connectHttp2('http://localhost', {
    createConnection: () => connect(join(dir, 's')),
  });
  const text = fc.string({ minLength: 1, maxLength: 80, unit: 'grapheme-ascii' }).map((each) => each.trim());
  const name = fc.constantFrom('x-a', 'x-b', 'user-agent', 'accept', 'cookie-like', 'grpc-timeout');
  const sets = fc.sample(fc.dictionary(name, text, { maxKeys: 6 }), { seed: 7, numRuns: 300 });
  for (const set of sets) {
    const stream = session.request({ ':method': 'POST', ':path': '/x', ...set });
    stream.resume();
    stream.end(Buffer.alloc(100));
    await once(stream, 'close');
  }
  session.close();
  await once(session, 'close');
  expect(received.map(plain)).toEqual(sets.map(plain));
});

function plain(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => !name.startsWith(':') && value !== '')
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
