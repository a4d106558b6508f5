// The server against grpc-js, so that it does not only understand itself.
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, watch as watchDirectory, writeFileSync } from 'node:fs';
import { connect as connectHttp2, constants, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectNet } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { EventType, PodsDefinition } from '../../api/kubelet/generated/pods/v1alpha1/api.ts';
import { EncodedMessage, RpcFailure, type RpcHandlers, rpcService } from '../../api/kubelet/rpc-service.ts';
import { realClock } from '../../base/clock.ts';
import { frame } from '../grpc-client/grpc-frames.ts';
import type { GrpcLimits } from './limits.ts';
import { type GrpcListener, listenGrpc } from './listen-grpc.ts';

type Handlers = RpcHandlers<typeof PodsDefinition>;

let dir: string;
let leaks: LeakCheck;
let errors: unknown[];
const opened: { client: Client[]; listener: GrpcListener[] } = { client: [], listener: [] };

beforeEach(() => {
  leaks = checkLeaks({ settleMs: 3_000 });
  dir = mkdtempSync(join(tmpdir(), 'grpc-'));
  errors = [];
});

afterEach(async () => {
  for (const client of opened.client.splice(0)) client.close();
  for (const listener of opened.listener.splice(0)) await listener.close();
  rmSync(dir, { recursive: true });
  await leaks.assertNone();
});

const endless = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

async function* waitFor(signal: AbortSignal): AsyncGenerator<never> {
  yield await endless(signal);
}

const defaults: Handlers = {
  getPod: async ({ podUID }) => ({ pod: Buffer.from(`pod ${podUID}`) }),
  listPods: async () => ({ pods: [] }),
  watchPods: async function* () {
    yield { type: EventType.INITIAL_SYNC_COMPLETE, pod: Buffer.alloc(0) };
  },
};

async function serve(
  handlers: Partial<Handlers> = {},
  more: { readonly limits?: Partial<GrpcLimits> } = {},
): Promise<GrpcListener> {
  const listener = await listenGrpc({
    path: join(dir, 'a.sock'),
    services: [rpcService(PodsDefinition, { ...defaults, ...handlers })],
    limits: more.limits ?? {},
    clock: realClock,
    onError: (err) => void errors.push(err),
  });
  opened.listener.push(listener);
  return listener;
}

function connect(options = {}): Client {
  const client = new Client(`unix:${join(dir, 'a.sock')}`, credentials.createInsecure(), {
    'grpc.enable_channelz': 0,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
    ...options,
  });
  opened.client.push(client);
  return client;
}

interface CallOptions {
  readonly client?: Client;
  readonly path?: string;
  readonly bytes?: Buffer;
  readonly metadata?: Metadata;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

const identity = (bytes: Buffer): Buffer => bytes;

function unary(options: CallOptions = {}): Promise<Buffer> {
  const { client = connect(), path = '/v1alpha1.Pods/GetPod', bytes = uidRequest('a'), deadlineMs } = options;
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      path,
      identity,
      identity,
      bytes,
      options.metadata ?? new Metadata(),
      deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
      (err, value) => (err === null ? resolve(value ?? Buffer.alloc(0)) : reject(err)),
    );
    options.signal?.addEventListener('abort', () => call.cancel());
  });
}

function watch(client = connect(), deadlineMs?: number) {
  const call = client.makeServerStreamRequest(
    '/v1alpha1.Pods/WatchPods',
    identity,
    identity,
    Buffer.alloc(0),
    new Metadata(),
    deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
  );
  const received: Buffer[] = [];
  call.on('data', (message: Buffer) => void received.push(message));
  const ended = new Promise<string>((resolve) => {
    call.once('error', (err: ServiceError) => resolve(`${status[err.code]}: ${err.details}`));
    call.once('end', () => setImmediate(() => resolve('OK')));
  });
  return { call, received, ended };
}

function uidRequest(uid: string): Buffer {
  return Buffer.from(PodsDefinition.methods.getPod.requestType.encode({ podUID: uid }).finish());
}

function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'OK',
    (err: ServiceError) => `${status[err.code]}: ${err.details}`,
  );
}

describe('a unary call', () => {
  test('answers with the response of its handler', async () => {
    await serve();
    const answer = await unary({ bytes: uidRequest('x') });
    expect(PodsDefinition.methods.getPod.responseType.decode(answer).pod.toString()).toBe('pod x');
  });

  test('fails with the code and message of its handler, whatever the message contains', async () => {
    const text = 'größer als 100%\nzweite Zeile';
    await serve({ getPod: () => Promise.reject(new RpcFailure('NOT_FOUND', text)) });
    expect(await failure(unary())).toBe(`NOT_FOUND: ${text}`);
    expect(errors).toEqual([]);
  });

  test('truncates a message that no client could receive', async () => {
    await serve({ getPod: ({ podUID }) => Promise.reject(new RpcFailure('NOT_FOUND', podUID)) });
    const shown = await failure(unary({ bytes: uidRequest('ü'.repeat(1_000_000)) }));
    expect(shown).toMatch(/^NOT_FOUND: ü+/);
    expect(shown.length).toBeLessThan(2_100);
  });

  test('fails as INTERNAL and reports any other error', async () => {
    const bug = new Error('a bug');
    await serve({ getPod: () => Promise.reject(bug) });
    expect(await failure(unary())).toBe('INTERNAL: a bug');
    expect(errors).toEqual([bug]);
  });

  test.each([
    ['/v1alpha1.Pods/Nope', 'UNIMPLEMENTED: unknown method Nope for service v1alpha1.Pods'],
    ['/v1.Other/GetPod', 'UNIMPLEMENTED: unknown service v1.Other'],
    ['/GetPod', 'UNIMPLEMENTED: malformed method name: "/GetPod"'],
  ])('to %s fails: %s', async (path, want) => {
    await serve();
    expect(await failure(unary({ path }))).toBe(want);
  });

  test('with a malformed message fails as INTERNAL', async () => {
    await serve();
    const bytes = Buffer.from([0x0a, 0x7f, 0x01]);
    expect(await failure(unary({ bytes }))).toMatch(/^INTERNAL: grpc: failed to unmarshal/);
  });

  test('with a message above the limit fails as RESOURCE_EXHAUSTED', async () => {
    await serve({}, { limits: { requestBytes: 1_000 } });
    const client = connect();
    expect(await failure(unary({ client, bytes: uidRequest('x'.repeat(2_000)) }))).toBe(
      'RESOURCE_EXHAUSTED: Received message larger than max (2003 vs 1000)',
    );
    expect(await failure(unary({ client }))).toBe('OK');
  });

  test('with more headers than allowed fails and leaves the connection usable', async () => {
    await serve();
    const client = connect();
    const metadata = new Metadata();
    metadata.set('x', 'y'.repeat(32 * 1024));
    expect(await failure(unary({ client, metadata }))).not.toBe('OK');
    expect(await failure(unary({ client }))).toBe('OK');
  });

  test('has a deadline, at which its handler is aborted', async () => {
    const aborted: unknown[] = [];
    await serve({
      getPod: (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.push(signal.reason));
        return endless(signal);
      },
    });
    const client = connect();
    // The connection is open before the deadline counts.
    await unary({ client, path: '/v1alpha1.Pods/ListPods', bytes: Buffer.alloc(0) });
    expect(await failure(unary({ client, deadlineMs: 300 }))).toMatch(/^DEADLINE_EXCEEDED/);
    await expect.poll(() => aborted).toHaveLength(1);
  });

  test.each(['cancels', 'disconnects'])('aborts its handler as CANCELLED when the client %s', async (how) => {
    const aborted: unknown[] = [];
    let begun = 0;
    await serve({
      getPod: (_, { signal }) => {
        begun += 1;
        signal.addEventListener('abort', () => aborted.push(signal.reason));
        return endless(signal);
      },
    });
    const session = connectHttp2('http://localhost', {
      createConnection: () => connectNet(join(dir, 'a.sock')),
    });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1alpha1.Pods/GetPod',
      'content-type': 'application/grpc+proto',
    });
    stream.on('error', () => undefined);
    stream.end(frame(uidRequest('a')));
    await expect.poll(() => begun).toBe(1);
    if (how === 'cancels') stream.close(constants.NGHTTP2_CANCEL);
    else session.destroy();
    await expect.poll(() => aborted).toMatchObject([{ code: 'CANCELLED' }]);
    session.destroy();
  });

  test('of a large message in pieces arrives whole', async () => {
    const pieces = Array.from({ length: 400 }, (_, at) => Buffer.alloc(at % 3 === 0 ? 100_000 : 7, at));
    await serve({ listPods: async () => new EncodedMessage(pieces) });
    const got = await unary({ path: '/v1alpha1.Pods/ListPods', bytes: Buffer.alloc(0) });
    expect(got.equals(Buffer.concat(pieces))).toBe(true);
  });

  test('above the number of calls in flight fails as RESOURCE_EXHAUSTED', async () => {
    await serve({ getPod: (_, { signal }) => endless(signal) }, { limits: { calls: 2 } });
    const client = connect();
    const cancel = new AbortController();
    const { signal } = cancel;
    const waiting = [unary({ client, signal }), unary({ client, signal })].map(failure);
    expect(await failure(unary({ client }))).toBe('RESOURCE_EXHAUSTED: too many calls in flight');
    cancel.abort();
    expect(await Promise.all(waiting)).toEqual(Array(2).fill(expect.stringMatching(/^CANCELLED/)));
    await expect.poll(() => failure(unary({ client, deadlineMs: 100 }))).toMatch(/^DEADLINE_EXCEEDED/);
  });
});

describe('a stream', () => {
  test('delivers messages in order and ends as its handler does', async () => {
    await serve({
      watchPods: async function* () {
        for (const pod of ['a', 'b', 'c']) yield { type: EventType.ADDED, pod: Buffer.from(pod) };
        throw new RpcFailure('RESOURCE_EXHAUSTED', 'enough');
      },
    });
    const { received, ended } = watch();
    expect(await ended).toBe('RESOURCE_EXHAUSTED: enough');
    expect(received.map((bytes) => bytes.subarray(4).toString())).toEqual(['a', 'b', 'c']);
  });

  test('ends with OK after the last message', async () => {
    await serve();
    const { received, ended } = watch();
    expect([await ended, received.length]).toEqual(['OK', 1]);
  });

  test('aborts its handler when the client cancels', async () => {
    const aborted: unknown[] = [];
    await serve({
      watchPods: async function* (_, { signal }) {
        signal.addEventListener('abort', () => aborted.push(signal.reason));
        yield { type: EventType.ADDED, pod: Buffer.from('a') };
        yield* waitFor(signal);
      },
    });
    const { call, ended, received } = watch();
    await expect.poll(() => received).toHaveLength(1);
    call.cancel();
    expect(await ended).toMatch(/^CANCELLED/);
    await expect.poll(() => aborted).toMatchObject([{ code: 'CANCELLED' }]);
    expect(errors).toEqual([]);
  });

  test('ends at its deadline', async () => {
    await serve({ watchPods: (_, { signal }) => waitFor(signal) });
    expect(await watch(connect(), 50).ended).toMatch(/^DEADLINE_EXCEEDED/);
  });

  test('produces no message before the client has made room for the one before it', async () => {
    let produced = 0;
    await serve({
      watchPods: async function* () {
        for (; produced < 1_000; ) {
          produced += 1;
          yield { type: EventType.ADDED, pod: Buffer.alloc(100_000) };
        }
      },
    });
    const { call, ended } = watch();
    call.pause();
    await expect.poll(() => produced).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(produced).toBeLessThan(20);
    call.resume();
    expect(await ended).toBe('OK');
    expect(produced).toBe(1_000);
  });

  test('of a client that does not read is reset after a while', async () => {
    const aborted: unknown[] = [];
    await serve(
      {
        watchPods: async function* (_, { signal }) {
          signal.addEventListener('abort', () => aborted.push(signal.reason));
          for (;;) yield { type: EventType.ADDED, pod: Buffer.alloc(100_000) };
        },
      },
      { limits: { stalledMs: 100 } },
    );
    const { call, ended } = watch();
    call.pause();
    await expect.poll(() => aborted).toMatchObject([{ code: 'RESOURCE_EXHAUSTED' }]);
    call.resume();
    expect(await ended).toMatch(/^CANCELLED/);
  });
});

describe('a malformed call', () => {
  const grpc = { ':method': 'POST', ':path': '/v1alpha1.Pods/GetPod', 'content-type': 'application/grpc' };
  const whole = frame(uidRequest('a'));
  const cases: readonly (readonly [string, Record<string, string>, Buffer | undefined, string])[] = [
    ['with another method', { ...grpc, ':method': 'GET' }, whole, '405'],
    ['with another content type', { ...grpc, 'content-type': 'application/grpc-web' }, whole, '415'],
    ['with a malformed deadline', { ...grpc, 'grpc-timeout': '1x' }, whole, '200 13 malformed grpc-timeout'],
    [
      'that is compressed',
      { ...grpc, 'grpc-encoding': 'gzip' },
      whole,
      '200 12 grpc: Decompressor is not installed for grpc-encoding "gzip"',
    ],
    ['without a message', grpc, Buffer.alloc(0), '200 13 the request ended before its message was complete'],
    [
      'with two messages',
      grpc,
      Buffer.concat([whole, whole]),
      '200 13 the request has more than one message',
    ],
    ['that does not arrive', grpc, undefined, '200 4 the request did not arrive in time'],
    [
      'with parameters of its content type is accepted',
      { ...grpc, 'content-type': 'application/grpc;v=1' },
      whole,
      '200 0 ',
    ],
  ];
  test.each(cases)('%s', async (_, headers, body, want) => {
    await serve({}, { limits: { requestMs: 100 } });
    const session = connectHttp2('http://localhost', {
      createConnection: () => connectNet(join(dir, 'a.sock')),
    });
    const stream = session.request(headers, { endStream: headers[':method'] === 'GET' });
    const heads: IncomingHttpHeaders[] = [];
    stream.on('error', () => undefined);
    stream.on('response', (head) => void heads.push(head));
    stream.on('trailers', (head) => void heads.push(head));
    stream.resume();
    if (body !== undefined && stream.writable) stream.end(body);
    await once(stream, 'close');
    session.destroy();
    const all: IncomingHttpHeaders = Object.assign({}, ...heads);
    expect(
      [all[':status'], all['grpc-status'], all['grpc-message']]
        .filter((each) => each !== undefined)
        .join(' '),
    ).toBe(want);
  });
});

describe('the listener', () => {
  test('replaces the socket of a killed process and creates the directory for root alone', async () => {
    const path = join(dir, 'sub', 'b.sock');
    const listen = () =>
      listenGrpc({ path, services: [], clock: realClock, onError: (err) => void errors.push(err) });
    const killed = await listen();
    const before = statSync(path).ino;
    const next = await listen();
    opened.listener.push(killed, next);
    expect(statSync(path).ino).not.toBe(before);
    expect(statSync(path).isSocket()).toBe(true);
    expect((statSync(join(dir, 'sub')).mode & 0o777).toString(8)).toBe('750');
  });

  test('creates the socket in place if asked to, and then removes it on close', async () => {
    const path = join(dir, 'b.sock');
    const events: string[] = [];
    const watcher = watchDirectory(dir, (_, name) => void events.push(String(name)));
    const options = {
      path,
      services: [],
      clock: realClock,
      onError: (err: unknown) => void errors.push(err),
    };
    const listener = await listenGrpc({ ...options, inPlace: true });
    expect(statSync(path).isSocket()).toBe(true);
    await listener.close();
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    await expect.poll(() => events.length).toBeGreaterThan(1);
    watcher.close();
    expect(new Set(events)).toEqual(new Set(['b.sock']));
  });

  test('fails with the path if it cannot listen there', async () => {
    writeFileSync(join(dir, 'file'), '');
    const listen = (path: string) =>
      listenGrpc({ path, services: [], clock: realClock, onError: () => undefined });
    await expect(listen(join(dir, 'file', 'x.sock'))).rejects.toMatchObject({
      reason: expect.stringMatching(/ENOTDIR|EEXIST/),
      message: `cannot listen on ${dir}/file/x.sock`,
    });
    await expect(listen(`/tmp/${'x'.repeat(108)}`)).rejects.toMatchObject({ reason: 'SocketPathTooLong' });
  });

  test('ends streams as UNAVAILABLE on close and lets unary calls complete', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const listener = await serve({
      getPod: () => gate.then(() => ({ pod: Buffer.from('late') })),
      watchPods: async function* (_, { signal }) {
        yield { type: EventType.ADDED, pod: Buffer.from('a') };
        yield* waitFor(signal);
      },
    });
    const client = connect();
    const { ended, received } = watch(client);
    const answer = failure(unary({ client }));
    await expect.poll(() => received).toHaveLength(1);
    const closed = listener.close();
    expect(await ended).toBe('UNAVAILABLE: the server is shutting down');
    release();
    expect(await answer).toBe('OK');
    await closed;
  });

  test('cuts off calls that do not complete in time on close', async () => {
    const listener = await serve({ getPod: (_, { signal }) => endless(signal) }, { limits: { closeMs: 50 } });
    const answer = failure(unary());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await listener.close();
    expect(await answer).not.toBe('OK');
  });

  test('closes connections without calls after a while; clients reconnect', async () => {
    await serve({}, { limits: { idleMs: 50 } });
    const client = connect();
    expect(await failure(unary({ client }))).toBe('OK');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await failure(unary({ client }))).toBe('OK');
  });

  test('accepts a limited number of connections', async () => {
    await serve({}, { limits: { connections: 2 } });
    const clients = [connect(), connect()];
    for (const client of clients) expect(await failure(unary({ client }))).toBe('OK');
    expect(await failure(unary({ deadlineMs: 300 }))).not.toBe('OK');
    clients[0]?.close();
    await expect.poll(() => failure(unary({ deadlineMs: 1_000 }))).toBe('OK');
  });
});
