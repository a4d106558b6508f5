// Against the API server double in memory, and against a transport with canned responses.
import { describe, expect, test } from 'vitest';
import { ApiServerDouble, adminUser } from '../../../test/api-server/double.ts';
import { memoryClient } from '../../../test/api-server/memory-client.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ApiRequest } from '../../api/ports/api-client.ts';
import { KubeletError } from '../../base/errors.ts';
import { InFlightCalls } from '../../base/in-flight-calls.ts';
import { silentLogger } from '../../base/log/log.ts';
import { TokenBucket } from '../../base/rate-limit.ts';
import { ApiServerClient, type ApiServerClientDeps } from './client.ts';
import type { Transport, TransportRequest } from './transport.ts';

interface Canned {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const signal = new AbortController().signal;
const pods: ApiRequest = { method: 'GET', path: '/api/v1/pods', signal };

class CannedTransport implements Transport {
  readonly host = 'server:6443';
  readonly sent: TransportRequest[] = [];
  readonly responses: (Canned | Error | 'never')[];
  unauthorizedCount = 0;

  constructor(...responses: (Canned | Error | 'never')[]) {
    this.responses = responses;
  }

  async send(request: TransportRequest) {
    this.sent.push(request);
    const response = this.responses.length > 1 ? this.responses.shift() : this.responses[0];
    if (response === undefined || response === 'never') return await new Promise<never>(() => undefined);
    if (response instanceof Error) throw response;
    const { status, headers = {}, body = '{}' } = response;
    return { status, headers, body: chunks(body) };
  }

  unauthorized(): void {
    this.unauthorizedCount++;
  }

  closeConnections(): void {
    this.responses.length = 0;
  }
}

/** One byte per chunk. */
async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  for (const byte of Buffer.from(text)) yield await Promise.resolve(new Uint8Array([byte]));
}

function clientOn(transport: Transport, clock: FakeClock, more: Partial<ApiServerClientDeps> = {}) {
  return new ApiServerClient({
    transport,
    clock,
    log: silentLogger,
    userAgent: 'kubelet/v1',
    limiters: {},
    timeoutMs: {
      requests: 60_000,
      events: 60_000,
      heartbeats: 10_000,
      'token-reviews': 10_000,
      'access-reviews': 10_000,
    },
    ...more,
  });
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => 'no failure',
    (err: unknown) => {
      if (!(err instanceof KubeletError)) return err;
      return { kind: err.kind, reason: err.reason, message: err.message, code: err.details['code'] };
    },
  );
}

describe('ApiServerClient', () => {
  test('sends JSON with its user agent and query, and reads the response', async () => {
    const transport = new CannedTransport({ status: 200, body: '{"kind":"Pod"}' });
    const client = clientOn(transport, new FakeClock());
    const query = { fieldSelector: 'a=b,c!=d', limit: 5, watch: undefined };
    expect(await client.patch('/api/v1/x', 'strategic', { a: 1 }, { signal, query })).toEqual({
      kind: 'Pod',
    });
    expect(transport.sent[0]).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/x?fieldSelector=a%3Db%2Cc%21%3Dd&limit=5',
      body: '{"a":1}',
      headers: {
        accept: 'application/json',
        'user-agent': 'kubelet/v1',
        'content-type': 'application/strategic-merge-patch+json',
      },
    });
  });

  const status = (code: number, reason: string) =>
    JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message: `it is ${reason}` });
  const errors: readonly (readonly [string, Canned, object])[] = [
    [
      'NotFound',
      { status: 404, body: status(404, 'NotFound') },
      { kind: 'not-found', reason: 'NotFound', code: 404 },
    ],
    [
      'AlreadyExists',
      { status: 409, body: status(409, 'AlreadyExists') },
      { kind: 'conflict', reason: 'AlreadyExists' },
    ],
    [
      'Forbidden',
      { status: 403, body: status(403, 'Forbidden') },
      { kind: 'forbidden', message: 'it is Forbidden' },
    ],
    ['Expired', { status: 410, body: status(410, 'Expired') }, { kind: 'conflict', code: 410 }],
    ['Invalid', { status: 422, body: status(422, 'Invalid') }, { kind: 'invalid' }],
    ['ServerTimeout', { status: 500, body: status(500, 'ServerTimeout') }, { kind: 'timeout' }],
    [
      'an HTML page of a proxy',
      { status: 502, body: '<html>' },
      { kind: 'unavailable', code: 502, reason: 'Unknown' },
    ],
    ['500 with an empty body', { status: 500, body: '' }, { kind: 'internal', reason: 'InternalError' }],
    [
      'a response that is not JSON',
      { status: 200, body: 'nonsense' },
      { kind: 'internal', reason: 'InvalidResponse' },
    ],
  ];
  for (const [name, response, want] of errors)
    test(`maps ${name} to a KubeletError`, async () => {
      const client = clientOn(new CannedTransport(response), new FakeClock());
      expect(await failureOf(client.request(pods))).toMatchObject(want);
    });

  test('retries after the Retry-After time, not before', async () => {
    const clock = new FakeClock();
    const transport = new CannedTransport(
      { status: 429, headers: { 'retry-after': '3' } },
      { status: 503, headers: { 'retry-after': '1' } },
      { status: 200, body: '{"ok":true}' },
    );
    const response = clientOn(transport, clock).request(pods);
    await clock.advance(2_999);
    expect(transport.sent).toHaveLength(1);
    await clock.advance(1);
    expect(transport.sent).toHaveLength(2);
    await clock.advance(1_000);
    expect(await response).toEqual({ ok: true });
  });

  test('does not retry without Retry-After, and at most ten times', async () => {
    const clock = new FakeClock();
    const plain = new CannedTransport({ status: 503 });
    expect(await failureOf(clientOn(plain, clock).request(pods))).toMatchObject({ kind: 'unavailable' });
    expect(plain.sent).toHaveLength(1);
    const busy = new CannedTransport({ status: 429, headers: { 'retry-after': '1' } });
    const response = failureOf(clientOn(busy, clock).request(pods));
    await clock.advance(20_000);
    expect(await response).toMatchObject({ kind: 'unavailable', reason: 'TooManyRequests' });
    expect(busy.sent).toHaveLength(11);
  });

  test('times out at its deadline; heartbeats have their own', async () => {
    const clock = new FakeClock();
    const client = clientOn(new CannedTransport('never'), clock);
    const beat = failureOf(client.request({ ...pods, limiter: 'heartbeats' }));
    const plain = failureOf(client.request(pods));
    await clock.advance(10_000);
    expect(await beat).toMatchObject({ kind: 'timeout' });
    await clock.advance(50_000);
    expect(await plain).toMatchObject({ kind: 'timeout' });
    expect(clock.pendingTimers()).toBe(0);
  });

  test('obeys its rate limiter; events have their own, heartbeats none', async () => {
    const clock = new FakeClock();
    const transport = new CannedTransport({ status: 200 });
    const limiters = {
      requests: new TokenBucket({ clock, qps: 1, burst: 2 }),
      events: new TokenBucket({ clock, qps: 1, burst: 1 }),
    };
    const client = clientOn(transport, clock, { limiters });
    const all = (['requests', 'events', 'heartbeats'] as const).flatMap((limiter) =>
      Array.from({ length: 4 }, () => client.request({ ...pods, limiter })),
    );
    await clock.settle();
    expect(transport.sent).toHaveLength(2 + 1 + 4);
    await clock.advance(5_000);
    await Promise.all(all);
    expect(transport.sent).toHaveLength(12);
  });

  test('reports a 401 to the transport', async () => {
    const transport = new CannedTransport({ status: 401 });
    await failureOf(clientOn(transport, new FakeClock()).request(pods));
    expect(transport.unauthorizedCount).toBe(1);
  });

  test('observes every attempt', async () => {
    const seen: string[] = [];
    const observer = {
      request: ({ method, host, code }: { method: string; host: string; code: string }) => {
        seen.push(`${method} ${host} ${code}`);
      },
      waited: () => undefined,
      retried: () => undefined,
    };
    const client = clientOn(
      new CannedTransport(new KubeletError('unavailable', 'x', 'gone'), { status: 200 }),
      new FakeClock(),
      { observer },
    );
    await failureOf(client.request(pods));
    await client.request(pods);
    expect(seen).toEqual(['GET server:6443 <error>', 'GET server:6443 200']);
  });
});

describe('ApiServerClient.watch', () => {
  const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;

  test('yields events cut at any byte, and drops an unterminated one', async () => {
    const body = `${line('ADDED', { a: 'ü' })}\n${line('MODIFIED', { a: 2 })}{"type":"DEL`;
    const client = clientOn(new CannedTransport({ status: 200, body }), new FakeClock());
    const seen: unknown[] = [];
    for await (const event of client.watch('/x', {}, signal)) seen.push(event);
    expect(seen).toEqual([
      { type: 'ADDED', object: { a: 'ü' } },
      { type: 'MODIFIED', object: { a: 2 } },
    ]);
  });

  test('throws the error that the server sends in the stream or as the response', async () => {
    const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
    for (const response of [
      { status: 200, body: line('ERROR', gone) },
      { status: 410, body: JSON.stringify(gone) },
    ]) {
      const client = clientOn(new CannedTransport(response), new FakeClock());
      const events = client.watch('/x', {}, signal);
      expect(await failureOf(events[Symbol.asyncIterator]().next())).toMatchObject({
        code: 410,
        reason: 'Expired',
      });
    }
  });

  test('closes the stream on the server when the reader leaves or the signal aborts', async () => {
    const clock = new FakeClock();
    const double = new ApiServerDouble({ clock });
    const { client } = memoryClient(double, clock, adminUser);
    for await (const event of client.watch('/api/v1/namespaces', {}, signal)) {
      expect(event.type).toBe('ADDED');
      expect(double.watches.size).toBe(1);
      break;
    }
    expect(double.watches.size).toBe(0);
    const stop = new AbortController();
    const reading = failureOf(
      (async () => {
        for await (const _ of client.watch('/api/v1/pods', {}, stop.signal)) throw new Error('no such pod');
      })(),
    );
    await clock.settle();
    expect(double.watches.size).toBe(1);
    stop.abort(new Error('enough'));
    expect(String(await reading)).toContain('enough');
    expect(double.watches.size).toBe(0);
    double.close();
    expect(clock.pendingTimers()).toBe(0);
  });
});

describe('requests in flight', () => {
  test('are listed with their deadline until they end', async () => {
    const clock = new FakeClock();
    const calls = new InFlightCalls(clock);
    const client = clientOn(new CannedTransport('never'), clock, { calls });
    const query = { token: 'not listed' };
    const failed = failureOf(client.request({ ...pods, query, timeoutMs: 3_000 }));
    await clock.settle();
    expect(calls.list()).toEqual([
      {
        to: 'api-server',
        method: 'GET /api/v1/pods',
        sinceMs: clock.now(),
        deadlineMs: clock.now() + 3_000,
      },
    ]);
    await clock.advance(3_000);
    expect(await failed).toMatchObject({ kind: 'timeout' });
    expect(calls.list()).toEqual([]);
  });

  test('include a watch only until it has begun', async () => {
    const clock = new FakeClock();
    const calls = new InFlightCalls(clock);
    const line = '{"type":"ADDED","object":{}}\n';
    const client = clientOn(new CannedTransport({ status: 200, body: line }), clock, { calls });
    const watch = client.watch('/api/v1/pods', {}, signal);
    const first = watch.next();
    expect(calls.list()).toMatchObject([{ to: 'api-server', method: 'watch /api/v1/pods' }]);
    await first;
    expect(calls.list()).toEqual([]);
    await watch.return(undefined);
  });
});
