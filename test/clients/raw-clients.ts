// Clients that write raw bytes to a listener and keep their end open, for fuzz tests of the ports. The server must
// close every connection: the client only reads, and after the server's FIN it writes until the server has closed the
// socket.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import type { HttpAnswer, HttpRequest } from '../../src/api/ports/http.ts';
import { untilAborted } from '../../src/base/abort/race-abort.ts';
import type { HttpLimits } from '../../src/edge/http/http-limits.ts';

export const fuzzSeed = 20_260_101;

const many = 1_000_000;

/** Permissive for a single peer, so that every byte reaches the parser, with short timeouts. */
export const fuzzLimits: Partial<HttpLimits> = {
  headersTimeoutMs: 800,
  requestTimeoutMs: 1_000,
  idleMs: 150,
  stalledMs: 500,
  streamStalledMs: 500,
  closeMs: 300,
  connections: many,
  unknownConnections: many,
  unknownConnectionsPerPeer: many,
  unknownIdleMs: 800,
  handshakesPerSecond: many,
  handshakesPerPeerPerSecond: many,
  unknownRequestsPerSecond: many,
  unknownRequestsPerPeerPerSecond: many,
  unknownRequestsInFlight: many,
  unknownRequestsInFlightPerPeer: many,
  unknownShare: 0.5,
};

/** The longest a connection may last; a correct server closes it within two seconds. */
const longestMs = 8_000;
/** The number of concurrent connections. */
const concurrency = 128;

interface Exchanged {
  readonly sent: Buffer;
  readonly got: Buffer;
}

/** Sends each input on a connection of its own. Rejects with the input whose connection the server left open. */
export async function exchangeAll(
  open: () => Socket,
  inputs: readonly (readonly Buffer[])[],
): Promise<readonly Exchanged[]> {
  const results: Exchanged[] = [];
  for (let at = 0; at < inputs.length; at += concurrency)
    results.push(
      ...(await Promise.all(inputs.slice(at, at + concurrency).map((pieces) => exchange(open(), pieces)))),
    );
  return results;
}

function exchange(socket: Socket, pieces: readonly Buffer[]): Promise<Exchanged> {
  const sent = Buffer.concat(pieces);
  const got: Buffer[] = [];
  socket.allowHalfOpen = true;
  socket.setNoDelay(true);
  return new Promise((resolve, reject) => {
    let pokes: NodeJS.Timeout | undefined;
    const timer = setTimeout(() => {
      reject(new Error(`left open after ${longestMs} ms: ${JSON.stringify(sent.toString('latin1'))}`));
      socket.destroy();
    }, longestMs);
    socket.on('data', (chunk: Buffer) => void got.push(chunk));
    socket.on('error', () => socket.destroy());
    // A half-open socket detects the close of the other end only by writing.
    socket.once('end', () => {
      pokes = setInterval(() => socket.write('x'), 20);
    });
    socket.once('close', () => {
      clearInterval(pokes);
      clearTimeout(timer);
      resolve({ sent, got: Buffer.concat(got) });
    });
    void writeAll(socket, pieces);
  });
}

/** Writes each piece in a turn of its own, so that the server reads them separately. */
async function writeAll(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (!socket.writable) return;
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Collects uncaught errors. Vitest fails on them too, but does not name the test. */
export function watchUncaught(): { readonly errors: readonly unknown[]; stop(): void } {
  const errors: unknown[] = [];
  const note = (err: unknown): void => void errors.push(err);
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  return {
    errors,
    stop: () => {
      process.off('uncaughtException', note);
      process.off('unhandledRejection', note);
    },
  };
}

/** Responds in every way a handler can: with text, the request's body, a stream, another protocol, an error. */
export async function answerAllWays(request: HttpRequest): Promise<HttpAnswer> {
  const { path, upgrade } = request;
  if (upgrade && path === '/upgrade') return { proxyTo: 'http://runtime/x' };
  if (path === '/echo') return { status: 200, headers: {}, body: await request.readBody(1_000) };
  if (path === '/stream') return { status: 200, headers: {}, body: chunks() };
  if (path === '/abandoned') {
    await untilAborted(request.signal);
    return { status: 200, headers: {}, body: Buffer.alloc(40 * 1024 * 1024) };
  }
  if (path === '/bad-header') return { status: 200, headers: { 'x-name': 'a\nb' }, body: 'hello' };
  if (path === '/long') return { status: 200, headers: {}, body: Buffer.alloc(300_000) };
  return { status: 200, headers: {}, body: 'hello' };
}

/** Takes over an upgraded connection, and ends it. */
export async function switchProtocols(_request: unknown, socket: Duplex): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n', () => socket.destroy());
  });
}

async function* chunks(): AsyncIterable<Uint8Array> {
  yield Buffer.from('one ');
  yield Buffer.from('two');
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

const requests = [
  'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /stream HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nUser-Agent: a\r\n\r\n',
  'GET http://other/long?a=1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'HEAD /stream HTTP/1.0\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello',
  'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\n',
  'PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc',
  'PUT / HTTP/1.1\r\nHost: x\r\nExpect: nothing\r\nContent-Length: 3\r\n\r\nabc',
  'GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmore',
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
  'GET /%41%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
].map(latin1);

const bits = '\0|\n|\r|\r\n|\r\n\r\n| |\t|:|,|;|%00|\x7f|\xff|0|-1|chunked'.split('|');
const tokens = [
  ...bits,
  'ffffffffffffffff',
  '99999999999999999999',
  'Content-Length: 3\r\n',
  'Content-Length: 99999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Connection: close\r\n',
  ' folded\r\n',
  'A: b\r\n'.repeat(3_000),
  'a'.repeat(70_000),
  '5\r\nhello\r\n'.repeat(500),
].map(latin1);

const bytes = (maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength, size: 'max' }).map((array) => Buffer.from(array));
const place = fc.double({ min: 0, max: 1, noNaN: true });

/** One mutation of a message between two offsets. */
const change = fc.record({
  how: fc.constantFrom('insert', 'replace', 'cut', 'drop', 'repeat', 'flip', 'bare-lf'),
  places: fc.tuple(place, place),
  what: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...tokens, ...requests) }, bytes(40)),
  times: fc.integer({ min: 1, max: 40 }),
});

function changed(
  message: Buffer,
  { how, places, times, what }: typeof change extends fc.Arbitrary<infer T> ? T : never,
): Buffer {
  const [from = 0, to = 0] = places.map((each) => Math.floor(each * message.length)).sort((a, b) => a - b);
  const before = message.subarray(0, from);
  const middle = message.subarray(from, to);
  const after = message.subarray(to);
  switch (how) {
    case 'insert':
      return Buffer.concat([before, what, middle, after]);
    case 'replace':
      return Buffer.concat([before, what, after]);
    case 'cut':
      return before;
    case 'drop':
      return Buffer.concat([before, after]);
    case 'repeat':
      return Buffer.concat([before, ...Array.from({ length: times }, () => middle), after]);
    case 'bare-lf':
      return latin1(message.toString('latin1').replaceAll('\r\n', '\n'));
    case 'flip':
    default:
      return Buffer.concat([before, middle.map((byte) => byte ^ (1 << (times % 8))), after]);
  }
}

/** Any of the messages, with some mutations. */
export function mutated(messages: readonly Buffer[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...messages), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([message, changes]) => changes.reduce(changed, message).subarray(0, 500_000));
}

/** The message, split into up to four pieces. */
export function pieced(message: fc.Arbitrary<Buffer>): fc.Arbitrary<readonly Buffer[]> {
  return fc.tuple(message, fc.array(place, { maxLength: 3 })).map(([all, places]) => {
    const cuts = [...places.map((each) => Math.floor(each * all.length)), all.length].sort((a, b) => a - b);
    return cuts
      .map((end, index) => all.subarray(cuts[index - 1] ?? 0, end))
      .filter(({ length }) => length > 0);
  });
}

/** Inputs of an HTTP/1.1 port: valid requests, mutated ones, random bytes. */
export const http1Inputs: fc.Arbitrary<readonly Buffer[]> = pieced(
  fc.oneof(
    { weight: 8, arbitrary: mutated(requests) },
    { weight: 1, arbitrary: fc.constantFrom(...requests) },
    { weight: 1, arbitrary: bytes(2_000) },
  ),
);

export const randomBytes = pieced(bytes(2_000));

const inner = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
const post = 'POST / HTTP/1.1\r\nHost: x\r\n';
const innerLength = `Content-Length: ${inner.length}`;

/** Request smuggling: the body looks like a request, framed so that two parsers may disagree on where it ends. */
export const smuggling: readonly (readonly [string, string])[] = [
  ['a body that is a request', `${post}${innerLength}\r\n\r\n${inner}`],
  ['two lengths', `${post}Content-Length: 0\r\n${innerLength}\r\n\r\n${inner}`],
  ['two lengths, the longer first', `${post}${innerLength}\r\nContent-Length: 0\r\n\r\n${inner}`],
  ['a list of lengths', `${post}${innerLength}, 0\r\n\r\n${inner}`],
  ['a length and chunks', `${post}${innerLength}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
  ['chunks and a length', `${post}Transfer-Encoding: chunked\r\n${innerLength}\r\n\r\n0\r\n\r\n${inner}`],
  [
    'chunks twice',
    `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${inner}`,
  ],
  ['an unknown coding', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`],
  ['a coding after chunks', `${post}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n${inner}`],
  [
    'a space before the colon',
    `${post}Transfer-Encoding : chunked\r\n${innerLength}\r\n\r\n0\r\n\r\n${inner}`,
  ],
  [
    'a tab before the coding and a length',
    `${post}Transfer-Encoding:\tchunked\r\n${innerLength}\r\n\r\n0\r\n\r\n${inner}`,
  ],
  ['a folded coding', `${post}Transfer-Encoding:\r\n chunked\r\n${innerLength}\r\n\r\n0\r\n\r\n${inner}`],
  ['a length with a sign', `${post}Content-Length: +0\r\n\r\n${inner}`],
  ['a negative length', `${post}Content-Length: -1\r\n\r\n${inner}`],
  ['a length in hexadecimal', `${post}Content-Length: 0x0\r\n\r\n${inner}`],
  ['a length past 64 bits', `${post}Content-Length: 18446744073709551616\r\n\r\n${inner}`],
  ['a chunk size past 64 bits', `${post}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n${inner}`],
  ['a negative chunk size', `${post}Transfer-Encoding: chunked\r\n\r\n-1\r\n${inner}`],
  ['a chunk size with a prefix', `${post}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${inner}`],
  ['a chunk size that ends in a bare line feed', `${post}Transfer-Encoding: chunked\r\n\r\n0\n\n${inner}`],
  [
    'a chunk longer than its declared size',
    `${post}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n${inner}`,
  ],
  ['a header that ends in a bare carriage return', `${post}A: b\r${innerLength}\r\n\r\n${inner}`],
  ['a NUL in a header', `${post}A: b\0\r\n\r\n${inner}`],
  ['a header without a name', `${post}: b\r\n\r\n${inner}`],
];
