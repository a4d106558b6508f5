import { describe, expect, test } from 'vitest';
import { RecordedSpans } from '../../../test/fakes/recorded-spans.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { TracedTransport } from './traced-transport.ts';
import type { TransportRequest, TransportResponse } from './transport.ts';

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('a');
  yield Buffer.from('b');
}

function setUp(send: (request: TransportRequest) => Promise<Partial<TransportResponse>>) {
  const spans = new RecordedSpans();
  const sent: TransportRequest[] = [];
  const transport = new TracedTransport(
    {
      host: 'api:6443',
      send: async (request) => {
        sent.push(request);
        return { status: 200, headers: {}, body: chunks(), ...(await send(request)) };
      },
      unauthorized: () => undefined,
      closeConnections: () => undefined,
    },
    new URL('https://api:6443/base'),
    spans.tracer,
  );
  return { sent, spans, transport };
}

const { signal } = new AbortController();
const get = { method: 'GET', path: '/api/v1/pods?limit=1', headers: { accept: 'x' }, signal };

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += String(chunk);
  return text;
}

describe('a request', () => {
  test('is a client span that ends with the body, and that the server can continue', async () => {
    const { sent, spans, transport } = setUp(async () => ({}));
    const { body } = await transport.send(get);
    expect(spans.names()).toEqual([]);
    expect(await read(body)).toBe('ab');
    const span = spans.named('HTTP GET');
    expect(span).toMatchObject({
      scope: 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp',
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'server.address': 'api',
        'server.port': 6443,
        'url.full': 'https://api:6443/base/api/v1/pods?limit=1',
      },
      error: undefined,
    });
    expect(sent[0]?.headers).toEqual({
      accept: 'x',
      traceparent: `00-${span.traceId}-${span.spanId}-01`,
    });
  });

  test('is a child of the span that makes it', async () => {
    const { spans, transport } = setUp(async () => ({}));
    const parent = spans.tracer.start({ scope: 's', name: 'sync' });
    await read((await parent.run(() => transport.send(get))).body);
    parent.end();
    expect(spans.named('HTTP GET').parentId).toBe(spans.named('sync').spanId);
  });

  test('that the server refuses is an error', async () => {
    const { spans, transport } = setUp(async () => ({ status: 403 }));
    await read((await transport.send(get)).body);
    expect(spans.named('HTTP GET')).toMatchObject({
      attributes: { 'http.response.status_code': 403, 'error.type': '403' },
      error: '',
      events: [],
    });
  });

  test('that is not answered is an error', async () => {
    const { spans, transport } = setUp(() =>
      Promise.reject(new KubeletError('unavailable', 'Down', 'no route')),
    );
    await expect(transport.send(get)).rejects.toThrow('no route');
    expect(spans.named('HTTP GET')).toMatchObject({
      attributes: { 'error.type': 'Down' },
      error: 'no route',
      events: [],
    });
  });

  test('that its caller aborts is not', async () => {
    const { spans, transport } = setUp(() => Promise.reject(new Aborted('stop')));
    await expect(transport.send(get)).rejects.toThrow('stop');
    expect(spans.named('HTTP GET').error).toBeUndefined();
  });
});
