// The whole export against a collector on a real gRPC server, and against other servers.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OtlpCollector } from '../../../test/fakes/otlp-collector.ts';
import { realClock } from '../../base/clock.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { type OpenTracing, openTracing } from './open-tracing.ts';

const scope = 's';
const soon = { timeout: 20_000, interval: 5 };
let lines: string[];
let opened: OpenTracing[];
let rejections: unknown[];
const onRejection = (err: unknown): void => void rejections.push(err);
/** The test runner reports them as well, but after the test. */
beforeEach(() => {
  lines = [];
  opened = [];
  rejections = [];
  process.on('unhandledRejection', onRejection);
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '1');
});
afterEach(async () => {
  await Promise.all(opened.map((tracing) => tracing.close()));
  vi.unstubAllEnvs();
  process.off('unhandledRejection', onRejection);
  expect(rejections).toEqual([]);
});

async function open(
  endpoint?: string,
  sampling: { readonly perMillion?: number } = { perMillion: 1_000_000 },
) {
  const own = lines;
  const log = textLogger({
    write: (line) => void own.push(line),
    clock: realClock,
    verbosity: new Verbosity(2),
    pid: 1,
  });
  const tracing = await openTracing({
    tracing: { endpoint, samplingRatePerMillion: sampling.perMillion },
    hostName: 'node1',
    clock: realClock,
    log,
  });
  if (tracing === undefined) throw new Error('tracing is off');
  opened.push(tracing);
  const span = (name = 'n', attributes = {}): void => tracing.tracer.start({ scope, name, attributes }).end();
  return { ...tracing, span };
}

test('is off unless configured', async () => {
  const log = textLogger({ write: () => undefined, clock: realClock, verbosity: new Verbosity(0), pid: 1 });
  expect(await openTracing({ tracing: undefined, hostName: 'n', clock: realClock, log })).toBeUndefined();
});

for (const [name, value] of [
  ['OTEL_EXPORTER_OTLP_HEADERS', 'no header=1'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://['],
] as const)
  test(`an invalid ${name} costs the traces only`, async () => {
    vi.stubEnv(name, value);
    const logged: string[] = [];
    const write = (line: string): void => void logged.push(line);
    const log = textLogger({ write, clock: realClock, verbosity: new Verbosity(0), pid: 1 });
    expect(await openTracing({ tracing: {}, hostName: 'n', clock: realClock, log })).toBeUndefined();
    expect(logged).toEqual([expect.stringContaining('Failed to set up tracing, running without traces')]);
  });

describe('a collector', () => {
  let collector: OtlpCollector;
  beforeEach(async () => {
    collector = await OtlpCollector.start();
  });
  afterEach(() => collector.end());

  test('receives spans with the resource of the kubelet', async () => {
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'zone=a,service.name=other');
    const { span } = await open(collector.endpoint);
    span('n', { text: 'a', number: 7, flag: true });
    await vi.waitFor(() => expect(collector.spans).toHaveLength(1), soon);
    expect(collector.spans[0]).toMatchObject({
      resource: { 'service.name': 'kubelet', 'host.name': 'node1', zone: 'a' },
      scope,
      name: 'n',
      attributes: { text: 'a', number: 7, flag: true },
      parentId: '',
      status: 0,
    });
  });

  test('receives what is queued when the kubelet stops', async () => {
    vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '3600000');
    const { close, span } = await open(collector.endpoint);
    for (let i = 0; i < 700; i++) span();
    await close();
    expect(collector.spans).toHaveLength(700);
  });

  test('receives the last spans although it is slow to answer those before', async () => {
    collector.respond = (answer) => {
      if (collector.requests > 1) answer(null, Buffer.alloc(0));
      else setTimeout(() => answer(null, Buffer.alloc(0)), 300);
    };
    const { close, span } = await open(collector.endpoint);
    span('first');
    await vi.waitFor(() => expect(collector.requests).toBe(1), soon);
    span('last');
    await close();
    expect(collector.spans.map(({ name }) => name)).toEqual(['last', 'first']);
    expect(lines).toEqual([]);
  });

  test('that hangs holds one batch at a time, whatever its timeout', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '3600000');
    vi.stubEnv('OTEL_BSP_EXPORT_TIMEOUT', '100');
    let inFlight = 0;
    const seen: number[] = [];
    collector.respond = (_answer, call) => {
      seen.push(++inFlight);
      call.on('cancelled', () => inFlight--);
    };
    const { span } = await open(collector.endpoint);
    await vi.waitFor(() => {
      span();
      expect(collector.requests).toBeGreaterThan(8);
    }, soon);
    // The next one may arrive before the cancellation of the one before, also over another connection.
    expect(Math.max(...seen)).toBeLessThanOrEqual(3);
  });

  test('is the one of OTEL_EXPORTER_OTLP_ENDPOINT if the configuration names none', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `https://${collector.endpoint}`);
    const { close, span } = await open();
    span();
    await close();
    expect(collector.spans).toHaveLength(1);
  });

  test('on this machine is reached without the proxy of the environment', async () => {
    for (const name of ['http_proxy', 'https_proxy', 'grpc_proxy']) vi.stubEnv(name, 'http://127.0.0.1:1');
    const { close, span } = await open(collector.endpoint);
    span();
    await close();
    expect(collector.spans).toHaveLength(1);
  });

  test('receives compressed spans with the headers of the environment', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'tenant=a');
    const { close, span } = await open(collector.endpoint);
    for (let i = 0; i < 20; i++) span('n', { text: 'x'.repeat(4_000) });
    await close();
    expect(collector.spans).toHaveLength(20);
    expect(collector.headers).toMatchObject({ tenant: 'a' });
    expect(collector.receivedBytes).toBeLessThan(20_000);
  });

  test('may listen on a unix socket, with or without a file', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kubelet-otlp-'));
    const abstract = `kubelet-otlp-${process.pid}`;
    for (const [path, endpoint] of [
      [join(dir, 's.sock'), `unix://${join(dir, 's.sock')}`],
      [`\0${abstract}`, `unix-abstract:${abstract}`],
    ] as const) {
      const local = new OtlpCollector();
      await local.open(path);
      const { close, span } = await open(endpoint);
      span();
      await close();
      expect(local.spans).toHaveLength(1);
      await local.end();
    }
    await rm(dir, { recursive: true });
  });

  test('receives no spans of traces that begin here at the rates 0 and unset', async () => {
    for (const sampling of [{ perMillion: 0 }, {}]) {
      const { close, span, tracer } = await open(collector.endpoint, sampling);
      span();
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      tracer.start({ scope, name: 'sampled by its caller', origin: { continues: { traceparent } } }).end();
      await close();
    }
    expect(collector.spans.map(({ name }) => name)).toEqual([
      'sampled by its caller',
      'sampled by its caller',
    ]);
  });

  test('receives about the configured share of traces', async () => {
    const { close, span } = await open(collector.endpoint, { perMillion: 250_000 });
    for (let i = 0; i < 1_600; i++) span();
    await close();
    // Six standard deviations.
    expect(Math.abs(collector.spans.length - 400)).toBeLessThan(104);
  });

  test('receives long attributes truncated', async () => {
    const { close, span } = await open(collector.endpoint);
    span('n', { text: 'x'.repeat(100_000) });
    await close();
    expect(String(collector.spans[0]?.attributes['text'])).toHaveLength(4096);
  });

  test('is reached with the defaults in place of unusable settings of the queue', async () => {
    for (const name of ['MAX_EXPORT_BATCH_SIZE', 'MAX_QUEUE_SIZE', 'EXPORT_TIMEOUT', 'SCHEDULE_DELAY'])
      vi.stubEnv(`OTEL_BSP_${name}`, '0');
    const { close, span } = await open(collector.endpoint);
    span();
    await close();
    expect([collector.spans.length, collector.requests]).toEqual([1, 1]);
  });

  test('that stops and starts again is reported once each', async () => {
    const { span } = await open(collector.endpoint);
    span('before');
    await vi.waitFor(() => expect(collector.named('before')).toHaveLength(1), soon);
    await collector.close();
    for (let i = 0; i < 20; i++) {
      span('lost');
      await sleep(5);
    }
    await vi.waitFor(() => expect(lines).toHaveLength(1), soon);
    expect(lines[0]).toContain('Failed to export traces, dropping spans until the collector accepts them');
    await collector.open();
    await vi.waitFor(() => {
      span('after');
      expect(collector.named('after').length).toBeGreaterThan(0);
    }, soon);
    await vi.waitFor(() => expect(lines).toHaveLength(2), soon);
    expect(lines[1]).toContain('Exporting traces again');
  });

  test('that rejects every request is reported once, however long its reason', async () => {
    collector.respond = (answer) => answer({ code: status.INTERNAL, details: 'x'.repeat(5_000) });
    const { span } = await open(collector.endpoint);
    await vi.waitFor(() => {
      span();
      expect(collector.requests).toBeGreaterThan(5);
    }, soon);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.length).toBeLessThan(6_000);
  });

  test('that accepts a part, or answers nonsense, is no failure', async () => {
    const answers = [Buffer.from([0x0a, 0x02, 0x08, 0x07]), Buffer.from('no message'), Buffer.alloc(100_000)];
    collector.respond = (answer) => answer(null, answers[collector.requests % 3] ?? Buffer.alloc(0));
    const { span } = await open(collector.endpoint);
    await vi.waitFor(() => {
      span();
      expect(collector.requests).toBeGreaterThan(5);
    }, soon);
    expect(lines).toEqual([]);
  });

  test('that does not answer for a while receives no more than the queue holds', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '1000');
    collector.respond = () => undefined;
    const { close, span } = await open(collector.endpoint);
    for (let i = 0; i < 20_000; i++) span();
    await vi.waitFor(() => expect(lines).toHaveLength(1), soon);
    expect(collector.spans).toEqual([]);
    collector.respond = (answer) => answer(null, Buffer.alloc(0));
    await vi.waitFor(() => expect(lines).toHaveLength(2), soon);
    await close();
    expect(collector.spans.length).toBeLessThanOrEqual(2048);
  });
});

describe('a server that is no collector', () => {
  let server: Server;
  const sockets = new Set<Socket>();
  async function listen(onConnection: (socket: Socket) => void): Promise<string> {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      onConnection(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  const behaviours: readonly (readonly [string, (socket: Socket) => void])[] = [
    ['closes every connection', (socket) => socket.destroy()],
    ['sends nothing', () => undefined],
    ['speaks another protocol', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'sends without end',
      (socket) => {
        const more = (): void => {
          if (!socket.destroyed) socket.write(Buffer.alloc(16_384, 0xff), () => setImmediate(more));
        };
        more();
      },
    ],
  ];
  for (const [name, behave] of behaviours) {
    test(`${name}: one line, and the kubelet stops in time`, async () => {
      vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
      const { close, span } = await open(await listen(behave));
      for (let i = 0; i < 100; i++) {
        span();
        if (i % 10 === 0) await sleep(5);
      }
      await vi.waitFor(() => expect(lines.length).toBeGreaterThan(0), soon);
      await close();
      expect(lines.filter((line) => line.includes('Failed to export traces'))).toHaveLength(1);
    });
  }
});
