import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { silentLogger } from '../base/log/log.ts';
import { asResponse, bodyText, httpRequest } from './fixtures/requests.ts';
import { restfulError, textResponse } from './http-message.ts';
import { type SecureListenOptions, type SecurePortDeps, securePort } from './secure-port.ts';

function build(
  over: Partial<SecurePortDeps['config']> = {},
  clientCAFile = '',
  dashboard?: SecurePortDeps['dashboard'],
) {
  const opened: SecureListenOptions[] = [];
  const components = securePort({
    config: {
      enableServer: true,
      address: '0.0.0.0',
      port: 10250,
      authentication: { x509: { clientCAFile } },
      tlsMinVersion: 'VersionTLS13',
      tlsCipherSuites: [],
      tlsCurvePreferences: [],
      enableDebuggingHandlers: true,
      enableSystemLogHandler: true,
      enableProfilingHandler: true,
      enableDebugFlagsHandler: true,
      ...over,
    },
    gates: {
      ContainerCheckpoint: true,
      ComponentFlagz: true,
      ComponentStatusz: false,
      ReloadKubeletClientCAFile: true,
    },
    handlers: {
      flagz: () => textResponse('flags'),
      statusz: () => textResponse('status'),
      exec: () => textResponse('ran'),
      checkpoint: () => textResponse('stored'),
      pods: () => textResponse('pods'),
    },
    dashboard,
    admit: async ({ headers, method }) =>
      headers['authorization'] === undefined || (headers['authorization'] === 'reader' && method !== 'GET')
        ? restfulError(401, 'Unauthorized')
        : undefined,
    metrics: { instrument: (_type, _routes, handler) => handler },
    host: {
      listen: async (options) => {
        opened.push(options);
        return { host: options.host, port: options.port, close: async () => undefined };
      },
      textFile: { read: async () => '', watch: () => ({ close: () => undefined }) },
    },
    clock: new FakeClock(0),
    log: silentLogger,
  });
  return { components, opened };
}

test('has no components if enableServer is false', () => {
  expect(build({ enableServer: false }).components).toEqual([]);
});

test('loads the client authorities before it listens', () => {
  const names = build({}, '/ca.crt').components.map(({ name }) => name);
  expect(names).toEqual(['client-authorities', 'secure']);
});

test('listens with the configured address and TLS settings, and admits requests before answering them', async () => {
  const { components, opened } = build();
  const stop = new AbortController();
  for (const each of components) await each.start(stop.signal);
  stop.abort();
  const [options] = opened;
  expect(options).toMatchObject({
    host: '0.0.0.0',
    port: 10250,
    flag: '--port',
    minVersion: 'TLSv1.3',
    clientAuthorities: undefined,
  });
  const status = async (path: string, headers = {}): Promise<number | undefined> =>
    options && asResponse(await options.handler(httpRequest(`GET ${path}`, { headers }))).status;
  expect(await status('/flagz')).toBe(401);
  expect(await status('/flagz', { authorization: 'Bearer t' })).toBe(200);
  // Its gate is off.
  expect(await status('/statusz', { authorization: 'Bearer t' })).toBe(404);
});

async function opened(port: ReturnType<typeof build>): Promise<readonly SecureListenOptions[]> {
  const stop = new AbortController();
  for (const each of port.components) if (each.name !== 'client-authorities') await each.start(stop.signal);
  stop.abort();
  return port.opened;
}

test('a page of another site runs no command and changes nothing with the certificate of the browser', async () => {
  const [{ handler } = { handler: undefined }] = await opened(build());
  const status = async (line: string, headers = {}): Promise<number | undefined> => {
    const all = { host: 'node-1:10250', authorization: 'Bearer t', ...headers };
    return handler && asResponse(await handler(httpRequest(line, { headers: all }))).status;
  };
  const foreign = { origin: 'https://evil.example' };
  for (const line of ['GET /exec/ns/p/c', 'POST /exec/ns/p/c', 'POST /checkpoint/ns/p/c']) {
    expect([line, await status(line, foreign)]).toEqual([line, 403]);
    expect([line, await status(line, { origin: 'https://node-1:10250' })]).not.toEqual([line, 403]);
    expect([line, await status(line)]).not.toEqual([line, 403]);
    const proxied = { ...foreign, 'x-forwarded-for': '10.0.0.9' };
    expect([line, await status(line, proxied)]).not.toEqual([line, 403]);
  }
  // It cannot read the response, since no header permits that.
  expect(await status('GET /flagz', foreign)).toBe(200);
});

test('the port of the page is a second port like it, on its own address', async () => {
  const ports = await opened(build({}, '/ca.crt', { address: '10.0.0.1', port: 4194 }));
  expect(ports.map(({ flag, host, port }) => `${host}:${port} ${flag}`)).toEqual([
    '0.0.0.0:10250 --port',
    '10.0.0.1:4194 --dashboard-port',
  ]);
  const [secure, page] = ports;
  expect(page?.clientAuthorities).toBe(secure?.clientAuthorities);
  const status = async (headers = {}): Promise<number | undefined> =>
    page && asResponse(await page.handler(httpRequest('GET /flagz', { headers }))).status;
  expect(await status()).toBe(401);
  expect(await status({ authorization: 'Bearer t' })).toBe(200);
});

test('/ui/api/access reports what the admission of the port allows', async () => {
  const [{ handler } = { handler: undefined }] = await opened(build());
  const access = async (headers = {}): Promise<unknown> => {
    if (handler === undefined) return undefined;
    const response = asResponse(await handler(httpRequest('GET /ui/api/access', { headers })));
    return response.status === 200 ? JSON.parse(await bodyText(response)) : response.status;
  };
  expect(await access()).toBe(401);
  expect(await access({ authorization: 'reader' })).toEqual({ logs: true, exec: false });
  expect(await access({ authorization: 'admin' })).toEqual({ logs: true, exec: true });
});
