import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestAuthority } from '../../../test/api-server/pki.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeNodeServer } from '../../../test/fakes/fake-node-server.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { realClock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { NodeApi } from './node-api.ts';

let leaks: LeakCheck;
let node: FakeNodeServer;
const never = new AbortController().signal;
beforeEach(async () => {
  leaks = checkLeaks();
  node = new FakeNodeServer();
  await node.start();
});
afterEach(async () => {
  await node.remove();
  await leaks.assertNone();
});

const failure = (promise: Promise<unknown>): Promise<string> => promise.then(String, describeError);
const api = (clock = realClock): NodeApi => new NodeApi({ at: { socketPath: node.socketPath }, clock });

test('the body of an answer', async () => {
  node.answers.set('/pods', 'ä');
  expect(await api().get('/pods?x=1', never)).toBe('ä');
  expect(node.requests).toEqual(['/pods?x=1']);
});

test('a kubelet that accepts and does not answer, or not to the end', async () => {
  for (const start of ['', 'the beginning']) {
    const clock = new FakeClock();
    const answering = new Promise<void>((resolve) => {
      node.answers.set('/pods', (response) => {
        if (start !== '') response.write(start);
        resolve();
      });
    });
    const result = failure(api(clock).get('/pods?q', never));
    await answering;
    await clock.advance(10_000);
    expect(await result).toBe("the kubelet's answer to GET /pods did not finish within 10000 ms");
  }
});

test('a stream has no deadline once it has begun', async () => {
  const clock = new FakeClock();
  node.answers.set('/s', (response) => response.write('a'));
  const stream = api(clock).stream('/s', never)[Symbol.asyncIterator]();
  expect(String((await stream.next()).value)).toBe('a');
  await clock.advance(3_600_000);
  const next = stream.next();
  await node.stop();
  expect(await failure(next)).toMatch(/^the request to .* failed: /);
});

test('a stream without headers has a deadline', async () => {
  const clock = new FakeClock();
  const asked = new Promise<void>((resolve) => node.answers.set('/s', () => resolve()));
  const next = failure(api(clock).stream('/s', never).next());
  await asked;
  await clock.advance(10_000);
  expect(await next).toContain('did not finish within 10000 ms');
});

test('leaving a stream closes its connection', async () => {
  let response: ServerResponse | undefined;
  node.answers.set('/s', (each) => {
    response = each;
    each.write('a');
  });
  for await (const _ of api().stream('/s', never)) break;
  if (response !== undefined && !response.destroyed) await once(response, 'close');
  expect(response?.destroyed).toBe(true);
});

test('an abort is the reason of its signal', async () => {
  const stop = new AbortController();
  node.answers.set('/s', (response) => response.write('a'));
  const stream = api().stream('/s', stop.signal);
  await stream.next();
  const reason = new Error('stopped');
  stop.abort(reason);
  await expect(stream.next()).rejects.toBe(reason);
  await expect(api().get('/s', stop.signal)).rejects.toBe(reason);
});

test('an answer that is too large', async () => {
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  node.answers.set('/pods', (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  expect(await failure(api().get('/pods', never))).toBe("the kubelet's answer is larger than 64 MiB");
});

test('TLS with certificates, a token and a path', async () => {
  const authority = new TestAuthority();
  const serving = authority.issue({ commonName: 's', hosts: ['127.0.0.1'], usage: 'server' });
  const client = authority.issue({ commonName: 'c', usage: 'client' });
  const seen: unknown[] = [];
  const server = createServer(
    { cert: serving.cert, key: serving.key, ca: authority.cert, requestCert: true },
    (request, response) => {
      seen.push([request.url, request.headers.authorization]);
      response.end('ok');
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/proxy/`);
  const connect = (more: { readonly ca?: string; readonly insecure?: boolean }): Promise<string> => {
    const key = new Secret(client.key);
    const at = { url, cert: client.cert, key, token: new Secret('t'), insecure: false, ...more };
    return failure(new NodeApi({ at, clock: realClock }).get('/pods', never));
  };
  expect(await connect({ ca: authority.cert })).toBe('ok');
  expect(await connect({ insecure: true })).toBe('ok');
  expect(seen[0]).toEqual(['/proxy/pods', 'Bearer t']);
  expect(await connect({})).toMatch(
    /^the certificate of https:\/\/127\.0\.0\.1:\d+ is not trusted \(.*\): set --certificate-authority, or --insecure-skip-tls-verify$/,
  );
  const plain = new NodeApi({
    at: { url: new URL(url.href.replace('https', 'http')), insecure: false },
    clock: realClock,
  });
  expect(await failure(plain.get('/pods', never))).toMatch(/: is it an https port\?$|failed: /);
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});
