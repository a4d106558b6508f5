import { describe, expect, test } from 'vitest';
import { RecordedSpans } from '../../test/fakes/recorded-spans.ts';
import { type HttpAnswer, type HttpRequest, type HttpResponse, textResponse } from './http-message.ts';
import { type Admit, type Route, route } from './router.ts';
import { tracedRoutes } from './traced-routes.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

function requestOf(path: string, headers: HttpRequest['headers'] = {}): HttpRequest {
  return {
    method: 'GET',
    path,
    query: new URLSearchParams('secret=1'),
    headers,
    signal: new AbortController().signal,
    upgrade: false,
    certificate: undefined,
    readBody: async () => new Uint8Array(),
  };
}

function setUp(handle: () => HttpAnswer | Promise<HttpAnswer> = () => textResponse('ok')) {
  const spans = new RecordedSpans();
  const shared = { class: 'always', subresource: 'proxy' } as const;
  const routes: readonly Route[] = [
    { row: { name: 'metrics', kind: 'plain', path: '/metrics', ...shared }, handle },
    {
      row: {
        name: 'containerLogs',
        kind: 'service',
        path: '/containerLogs/',
        patterns: ['/{podNamespace}/{podID}/{containerName}'],
        methods: ['GET'],
        ...shared,
      },
      handle,
    },
    {
      row: { name: 'pods', kind: 'service', path: '/pods', patterns: [''], methods: ['GET'], ...shared },
      handle,
    },
  ];
  const on = (port: 'secure' | 'read-only', admit?: Admit) =>
    route(tracedRoutes(routes, port, spans.tracer), admit);
  return { spans, on };
}

describe('a request', () => {
  test('is a server span with the pattern of its route', async () => {
    const { on, spans } = setUp();
    await on('secure')(requestOf('/containerLogs/ns/pod/c'));
    expect(spans.ended()).toMatchObject([
      {
        name: '/containerLogs/{podNamespace}/{podID}/{containerName}',
        attributes: {
          'http.request.method': 'GET',
          'http.response.status_code': 200,
          'http.route': '/containerLogs/{podNamespace}/{podID}/{containerName}',
          'server.address': 'kubelet',
          'url.path': '/containerLogs/ns/pod/c',
          'url.scheme': 'https',
        },
      },
    ]);
    expect(JSON.stringify(spans.ended())).not.toContain('secret');
  });

  test('of a route without a pattern has its path', async () => {
    const { on, spans } = setUp();
    await on('secure')(requestOf('/metrics'));
    expect(spans.names()).toEqual(['/metrics']);
  });

  test('of the root of a service has its pattern with a slash', async () => {
    const { on, spans } = setUp();
    await on('secure')(requestOf('/pods'));
    expect(spans.named('/pods/').attributes).toMatchObject({ 'http.route': '/pods/', 'url.path': '/pods' });
  });

  const connection = { remoteAddress: '10.0.0.9', remotePort: 4711, localPort: 10250, httpVersion: '1.1' };
  const peer = {
    'network.peer.address': '10.0.0.9',
    'network.peer.port': 4711,
    'network.protocol.version': '1.1',
  };
  const clients = [
    ['names its client', connection, {}, { ...peer, 'client.address': '10.0.0.9', 'server.port': 10250 }],
    [
      'on the default port does not name it',
      { ...connection, localPort: 443 },
      {},
      { ...peer, 'client.address': '10.0.0.9' },
    ],
    [
      'over a proxy names client and program as the headers do',
      connection,
      { 'x-forwarded-for': '192.0.2.1, 10.0.0.9', 'user-agent': 'curl' },
      { ...peer, 'client.address': '192.0.2.1', 'server.port': 10250, 'user_agent.original': 'curl' },
    ],
    ['without a connection has no client', undefined, {}, {}],
  ] as const;
  for (const [name, from, headers, named] of clients)
    test(name, async () => {
      const { on, spans } = setUp();
      await on('secure')({ ...requestOf('/metrics', headers), ...(from && { connection: () => from }) });
      expect(spans.named('/metrics').attributes).toEqual({
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'http.route': '/metrics',
        'server.address': 'kubelet',
        'url.path': '/metrics',
        'url.scheme': 'https',
        ...named,
      });
    });

  test('continues the trace of an authorized client', async () => {
    const { on, spans } = setUp();
    await on('secure', async () => undefined)(requestOf('/metrics', { traceparent }));
    expect(spans.named('/metrics')).toMatchObject({ traceId, links: [] });
  });

  test('to the read-only port begins a trace with a link to that of the client', async () => {
    const { on, spans } = setUp();
    await on('read-only')(requestOf('/metrics', { traceparent }));
    expect(spans.named('/metrics')).toMatchObject({ parentId: undefined, links: [traceId] });
    expect(spans.named('/metrics').attributes['url.scheme']).toBe('http');
  });

  test('that is rejected leaves no span', async () => {
    const { on, spans } = setUp();
    const forbidden: HttpResponse = { status: 403, headers: {}, body: '' };
    expect(await on('secure', async () => forbidden)(requestOf('/metrics', { traceparent }))).toBe(forbidden);
    expect(spans.names()).toEqual([]);
  });

  test('of an unknown path leaves no span', async () => {
    const { on, spans } = setUp();
    await on('secure')(requestOf('/nothing'));
    expect(spans.names()).toEqual([]);
  });

  test('is the parent of what its handler does', async () => {
    const { on, spans } = setUp(async () => {
      spans.tracer.start({ scope: 's', name: 'call' }).end();
      return textResponse('ok');
    });
    await on('secure')(requestOf('/metrics'));
    expect(spans.named('call').parentId).toBe(spans.named('/metrics').spanId);
  });

  test('that fails is an error', async () => {
    const { on, spans } = setUp(() => Promise.reject(new Error('broken')));
    await expect(on('secure')(requestOf('/metrics'))).rejects.toThrow('broken');
    expect(spans.named('/metrics').error).toBe('broken');
  });

  test('with a status of 500 is an error, with 404 it is none', async () => {
    for (const [status, error] of [
      [404, undefined],
      [500, ''],
    ] as const) {
      const { on, spans } = setUp(() => ({ status, headers: {}, body: '' }));
      await on('secure')(requestOf('/metrics'));
      expect(spans.named('/metrics')).toMatchObject({ error, events: [] });
    }
  });

  test('for a stream ends with the stream', async () => {
    async function* lines(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
    }
    const { on, spans } = setUp(() => ({ status: 200, headers: {}, body: lines() }));
    const { body } = (await on('secure')(requestOf('/metrics'))) as HttpResponse;
    expect(spans.names()).toEqual([]);
    for await (const chunk of body as AsyncIterable<Uint8Array>) expect(String(chunk)).toBe('a');
    expect(spans.names()).toEqual(['/metrics']);
  });

  test('that is upgraded ends when its connection is handed over', async () => {
    const { on, spans } = setUp(() => ({ proxyTo: 'http://runtime/' }));
    await on('secure')(requestOf('/metrics'));
    expect(spans.names()).toEqual(['/metrics']);
  });
});

test('routes stay as they are without a tracer', () => {
  const routes: readonly Route[] = [];
  expect(tracedRoutes(routes, 'secure', undefined)).toBe(routes);
});
