// Probes and hooks against servers that send endlessly. Each would keep an unbounded client busy until its timeout, which is long
// here, so that a missing bound makes the test time out.
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { describeError } from '../../base/errors.ts';
import { hookHttp } from '../http-client/hook-http.ts';
import { type HostileServer, hostileServers } from './fixtures/hostile-http.ts';
import { certificate, key } from './fixtures/self-signed.ts';
import { closeServers, listen } from './fixtures/servers.ts';
import { httpProbe } from './http-probe.ts';

let leaks: LeakCheck;
beforeEach(() => {
  leaks = checkLeaks();
});
afterEach(async () => {
  // Clients first: closing the servers would hide connections that a client has left open.
  await expect.poll(() => connections.size, { timeout: 2_000 }).toBe(0);
  await closeServers();
  await leaks.assertNone();
});

const connections = new Set<Socket>();
const { signal } = new AbortController();
const farMs = 600_000;

async function serve({ serve: handle }: HostileServer, scheme: 'http' | 'https'): Promise<number> {
  const onConnection = (socket: Socket): void => {
    connections.add(socket);
    socket.on('error', () => undefined).on('close', () => connections.delete(socket));
    handle(socket);
  };
  const server: Server =
    scheme === 'http'
      ? createTcpServer(onConnection)
      : createTlsServer({ key, cert: certificate }, onConnection);
  return await listen(server);
}

const request = (scheme: 'http' | 'https', port: number) =>
  ({ scheme, host: '127.0.0.1', port, path: '/', headers: [] }) as const;

for (const scheme of ['http', 'https'] as const) {
  describe(`over ${scheme}`, () => {
    for (const server of hostileServers) {
      test(`probe: ${server.name}`, async () => {
        const port = await serve(server, scheme);
        const answer = httpProbe({ ...request(scheme, port), timeoutMs: farMs }, signal);
        if ('rejects' in server.probe) await expect(answer).rejects.toThrow(server.probe.rejects);
        else {
          const { output, result } = await answer;
          expect({ result, output }).toEqual({
            result: server.probe.result,
            output: expect.stringMatching(server.probe.output),
          });
        }
      });
      test(`hook: ${server.name}`, async () => {
        const port = await serve(server, scheme);
        const failure = await hookHttp(request(scheme, port), signal).then(() => undefined, describeError);
        if (server.hook === undefined) expect(failure).toBeUndefined();
        else expect(failure).toMatch(server.hook);
      });
    }
  });
}
