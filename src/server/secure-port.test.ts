import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { silentLogger } from '../base/log/log.ts';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import { restfulError, textResponse } from './http-message.ts';
import { type SecureListenOptions, type SecurePortDeps, securePort } from './secure-port.ts';

function build(over: Partial<SecurePortDeps['config']> = {}, clientCAFile = '') {
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
      ContainerCheckpoint: false,
      ComponentFlagz: true,
      ComponentStatusz: false,
      ReloadKubeletClientCAFile: true,
    },
    handlers: { flagz: () => textResponse('flags'), statusz: () => textResponse('status') },
    admit: async ({ headers }) =>
      headers['authorization'] === undefined ? restfulError(401, 'Unauthorized') : undefined,
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
