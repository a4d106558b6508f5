import { expect, test } from 'vitest';
import { silentLogger } from '../base/log.ts';
import { plainPorts } from './plain-ports.ts';

test.each([
  [10248, 10255, ['healthz 127.0.0.1:10248 --healthz-port', 'read-only 0.0.0.0:10255 --read-only-port']],
  [10248, 0, ['healthz 127.0.0.1:10248 --healthz-port']],
  [0, 10255, ['read-only 0.0.0.0:10255 --read-only-port']],
  [0, 0, []],
])('health on %i, read-only on %i', async (healthzPort, readOnlyPort, want) => {
  const asked: string[] = [];
  const stop = new AbortController();
  const servers = plainPorts({
    config: { healthzBindAddress: '127.0.0.1', healthzPort, address: '0.0.0.0', readOnlyPort },
    checks: [],
    handlers: {},
    metrics: { counted: (_type, _routes, handler) => handler },
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
