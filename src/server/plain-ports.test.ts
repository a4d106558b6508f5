import { expect, test } from 'vitest';
import { silentLogger } from '../base/log/log.ts';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import { type HttpHandler, textResponse } from './http-message.ts';
import { HealthSlis } from './node/health-slis.ts';
import { plainPorts } from './plain-ports.ts';

async function readOnlyHandler(handlers: Parameters<typeof plainPorts>[0]['handlers']): Promise<HttpHandler> {
  const stop = new AbortController();
  let opened: HttpHandler | undefined;
  const [server] = plainPorts({
    config: { healthzBindAddress: '', healthzPort: 0, address: '0.0.0.0', readOnlyPort: 10255 },
    checks: [],
    handlers,
    metrics: { instrument: (_type, _routes, handler) => handler },
    listen: async ({ handler, host, port }) => {
      opened = handler;
      return { host, port, close: async () => undefined };
    },
    log: silentLogger,
  });
  await server?.start(stop.signal);
  stop.abort();
  if (opened === undefined) throw new Error('the port was not opened');
  return opened;
}

test.each(['DELETE', 'POST', 'PUT', 'PATCH', 'OPTIONS'])(
  'rejects %s on the read-only port',
  async (method) => {
    const slis = new HealthSlis();
    slis.observe('ping', true);
    const handle = await readOnlyHandler({
      sliMetrics: slis.handle,
      metrics: () => textResponse('a 1\n'),
      summary: () => textResponse('{}'),
    });
    for (const path of ['/metrics/slis', '/metrics', ...(method === 'POST' ? [] : ['/stats/summary'])]) {
      expect(asResponse(await handle(httpRequest(`${method} ${path}`)))).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD' },
      });
    }
    // Unauthenticated clients cannot reset the metrics.
    const { body } = asResponse(await handle(httpRequest('GET /metrics/slis')));
    expect(body).toContain('name="ping"');
    expect(asResponse(await handle(httpRequest('HEAD /metrics'))).status).toBe(200);
  },
);

test.each([
  [10248, 10255, ['healthz 127.0.0.1:10248 --healthz-port', 'read-only 0.0.0.0:10255 --read-only-port']],
  [10248, 0, ['healthz 127.0.0.1:10248 --healthz-port']],
  [0, 10255, ['read-only 0.0.0.0:10255 --read-only-port']],
  [0, 0, []],
])('opens the ports for healthzPort %i and readOnlyPort %i', async (healthzPort, readOnlyPort, want) => {
  const asked: string[] = [];
  const stop = new AbortController();
  const servers = plainPorts({
    config: { healthzBindAddress: '127.0.0.1', healthzPort, address: '0.0.0.0', readOnlyPort },
    checks: [],
    handlers: {},
    metrics: { instrument: (_type, _routes, handler) => handler },
    listen: async ({ flag, host, port }) => {
      asked.push(`${host}:${port} ${flag}`);
      return { host, port, close: async () => undefined };
    },
    log: silentLogger,
  });
  for (const server of servers) await server.start(stop.signal);
  stop.abort();
  expect(servers.map(({ name }, index) => `${name} ${asked[index]}`)).toEqual(want);
});
