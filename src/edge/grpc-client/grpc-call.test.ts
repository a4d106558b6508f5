// Calls against an HTTP/2 server whose response each test scripts, on a real unix socket. Well-behaved gRPC servers are
// covered by client.test.ts.

import { mkdtemp, rm } from 'node:fs/promises';
import {
  type ClientHttp2Session,
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { CriConnection } from '../cri/connection.ts';
import { streamCall, unaryCall } from './grpc-call.ts';
import { GrpcError } from './grpc-error.ts';
import { frame } from './grpc-frames.ts';

type Respond = (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void;

let dir: string;
let server: Http2Server;
let connection: CriConnection;
let respond: Respond;
const sessions: ServerHttp2Session[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'grpc-call-'));
  server = createServer();
  server.on('sessionError', () => undefined);
  server.on('session', (each) => sessions.push(each));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    respond(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(join(dir, 's'), resolve));
  connection = new CriConnection(join(dir, 's'), realClock);
});
afterEach(async () => {
  connection.close();
  for (const each of sessions.splice(0)) each.destroy();
  await new Promise((resolve) => server.close(resolve));
  await rm(dir, { recursive: true });
});

const ok = { ':status': 200, 'content-type': 'application/grpc' };
const request = { path: '/s/M', message: Buffer.from('ask'), timeoutMs: 5_000, clock: realClock };
const session = (): ClientHttp2Session => connection.session();

/** Responds with headers, these chunks, and trailers. */
function responseOf(pieces: readonly Uint8Array[], trailers: Record<string, string>): Respond {
  return (stream) => {
    stream.respond(ok, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    for (const piece of pieces) stream.write(piece);
    stream.end();
  };
}

function call(over: Partial<typeof request> = {}): Promise<string> {
  return new Promise((resolve, reject) =>
    unaryCall(session(), { ...request, ...over }, (err, message) =>
      message === undefined ? reject(err) : resolve(message.toString()),
    ),
  );
}

async function failure(over: Partial<typeof request> = {}): Promise<readonly unknown[]> {
  const err: unknown = await call(over).catch((reason: unknown) => reason);
  if (!(err instanceof GrpcError)) throw new Error(`expected a failure, got ${String(err)}`);
  return [err.code, err.message, err.fromServer];
}

describe('a request', () => {
  test('has the headers of the protocol, its message and its deadline', async () => {
    const seen: unknown[] = [];
    respond = (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        seen.push(headers[':method'], headers[':path'], headers['te'], headers['content-type']);
        seen.push(headers['grpc-timeout'], Buffer.concat(chunks).toString('latin1'));
        responseOf([frame(Buffer.from('yes'))], { 'grpc-status': '0' })(stream, headers);
      });
    };
    expect(await call()).toBe('yes');
    expect(seen).toEqual(['POST', '/s/M', 'trailers', 'application/grpc', '5000m', '\0\0\0\0\x03ask']);
  });
  for (const [timeoutMs, text] of [
    [0.2, '1m'],
    [99_999_999, '99999999m'],
    [1e8, '100000S'],
    [Number.POSITIVE_INFINITY, undefined],
  ] as const) {
    test(`encodes a deadline of ${timeoutMs} ms as ${text}`, async () => {
      let seen: unknown = '';
      respond = (stream, headers) => {
        seen = headers['grpc-timeout'];
        responseOf([frame(Buffer.from('yes'))], { 'grpc-status': '0' })(stream, headers);
      };
      // A timer that never fires: only the header matters here.
      const clock = { setTimer: () => ({ cancel: () => undefined }) };
      await call({ timeoutMs, clock: clock as never });
      expect(seen).toBe(text);
    });
  }
});

describe('a response', () => {
  const yes = frame(Buffer.from('yes'));
  test('is read from chunks cut at any byte', async () => {
    for (let at = 1; at < yes.length; at++) {
      respond = responseOf([yes.subarray(0, at), yes.subarray(at)], { 'grpc-status': '0' });
      expect(await call()).toBe('yes');
    }
  });
  test('may have an empty message', async () => {
    respond = responseOf([frame(new Uint8Array())], { 'grpc-status': '0' });
    expect(await call()).toBe('');
  });
  test('without a message is an error', async () => {
    respond = responseOf([], { 'grpc-status': '0' });
    expect(await failure()).toEqual(['INTERNAL', 'the response has no message', false]);
  });
  test('with a truncated message is an error', async () => {
    respond = responseOf([yes.subarray(0, 6)], { 'grpc-status': '0' });
    expect(await failure()).toEqual(['INTERNAL', 'the response has no message', false]);
  });
  test('with endless messages is an error and not buffered', async () => {
    respond = (stream) => {
      stream.respond(ok);
      const more = (): boolean => stream.destroyed || stream.write(yes, more);
      more();
    };
    expect(await failure()).toEqual(['INTERNAL', 'the response has more than one message', false]);
  });
  test('with an unrequested compressed message is an error', async () => {
    respond = responseOf([Buffer.from([1, 0, 0, 0, 0])], { 'grpc-status': '0' });
    expect((await failure())[0]).toBe('INTERNAL');
  });
});

describe('a failure', () => {
  test('in trailers, with a percent-encoded message', async () => {
    respond = responseOf([], { 'grpc-status': '5', 'grpc-message': 'kein Beh%C3%A4lter: 100%25' });
    expect(await failure()).toEqual(['NOT_FOUND', 'kein Behälter: 100%', true]);
  });
  test('in trailers, with an invalidly encoded message', async () => {
    respond = responseOf([], { 'grpc-status': '5', 'grpc-message': '100% no' });
    expect(await failure()).toEqual(['NOT_FOUND', '100% no', true]);
  });
  test('in a trailers-only response', async () => {
    respond = (stream) =>
      stream.respond({ ...ok, 'grpc-status': '12', 'grpc-message': 'no such' }, { endStream: true });
    expect(await failure()).toEqual(['UNIMPLEMENTED', 'no such', true]);
  });
  test('with an unknown code', async () => {
    respond = responseOf([], { 'grpc-status': '99' });
    expect((await failure())[0]).toBe('UNKNOWN');
  });
  for (const [status, code] of [
    [404, 'UNIMPLEMENTED'],
    [503, 'UNAVAILABLE'],
    [500, 'UNKNOWN'],
  ] as const) {
    test(`HTTP status ${status}`, async () => {
      respond = (stream) => {
        stream.respond({ ':status': status });
        stream.end('<html>');
      };
      expect((await failure())[0]).toBe(code);
    });
  }
  for (const [reset, code] of [
    [constants.NGHTTP2_REFUSED_STREAM, 'UNAVAILABLE'],
    [constants.NGHTTP2_ENHANCE_YOUR_CALM, 'RESOURCE_EXHAUSTED'],
    [constants.NGHTTP2_INTERNAL_ERROR, 'INTERNAL'],
  ] as const) {
    test(`reset with ${reset}`, async () => {
      respond = (stream) => stream.close(reset);
      expect((await failure())[0]).toBe(code);
    });
  }
  test('response that ends without a status', async () => {
    respond = (stream) => {
      stream.respond(ok);
      stream.end(frame(Buffer.from('yes')));
    };
    expect((await failure())[0]).toBe('INTERNAL');
  });
  test('of the connection during a call; the next call opens another', async () => {
    respond = (stream) => stream.session?.destroy();
    expect((await failure())[0]).toBe('UNAVAILABLE');
    respond = responseOf([frame(Buffer.from('yes'))], { 'grpc-status': '0' });
    expect(await call()).toBe('yes');
  });
  test('GOAWAY: the call in flight completes, the next one opens another connection', async () => {
    respond = (stream, headers) => {
      if (sessions.length === 1) stream.session?.goaway();
      responseOf([frame(Buffer.from('yes'))], { 'grpc-status': '0' })(stream, headers);
    };
    expect(await call()).toBe('yes');
    expect(await call()).toBe('yes');
    expect(sessions).toHaveLength(2);
  });
});

describe('cancelling', () => {
  test('resets the stream on the server and ends the call once', async () => {
    const resetCode = new Promise<number>((resolve) => {
      respond = (stream) => stream.on('close', () => resolve(stream.rstCode));
    });
    const ends: unknown[] = [];
    const running = unaryCall(session(), request, (err) => ends.push(err));
    await new Promise<void>((resolve) => server.once('stream', () => resolve()));
    running.cancel();
    running.cancel();
    expect(await resetCode).toBe(constants.NGHTTP2_CANCEL);
    expect(ends).toMatchObject([{ code: 'CANCELLED' }]);
  });
  test('happens at the deadline', async () => {
    respond = () => undefined;
    expect(await failure({ timeoutMs: 20 })).toEqual(['DEADLINE_EXCEEDED', 'Deadline exceeded', false]);
  });
  test('happens when the reader of a response stream leaves', async () => {
    const resetCode = new Promise<number>((resolve) => {
      respond = (stream) => {
        stream.respond(ok);
        for (const word of ['a', 'b', 'c']) stream.write(frame(Buffer.from(word)));
        stream.on('close', () => resolve(stream.rstCode));
      };
    });
    for await (const message of streamCall(session(), request).messages()) {
      expect(message.toString()).toBe('a');
      break;
    }
    expect(await resetCode).toBe(constants.NGHTTP2_CANCEL);
  });
});
