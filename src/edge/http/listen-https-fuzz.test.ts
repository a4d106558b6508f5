// Hostile bytes on the secure port, before TLS and inside it, for HTTP/1.1 and HTTP/2. The server must survive, close every
// connection and keep answering.
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../test/api-server/pki.ts';
import { floods, http2Inputs, oddRequests } from '../../../test/clients/http2-frames.ts';
import {
  answerAllWays,
  exchangeAll,
  fuzzLimits,
  fuzzSeed,
  http1Inputs,
  mutated,
  pieced,
  randomBytes,
  smuggling,
  switchProtocols,
  watchUncaught,
} from '../../../test/clients/raw-clients.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { Channel } from '../../base/channel.ts';
import type { HttpListener } from './listen-http.ts';
import { listenHttps } from './listen-https.ts';

const authority = new TestAuthority();
const server = authority.issue({ commonName: 'node', hosts: ['127.0.0.1'], usage: 'server' });

let leaks: LeakCheck;
let uncaught: ReturnType<typeof watchUncaught>;
let listener: HttpListener;
let seen: string[] = [];
/** Requests that were handled although their client had already disconnected. */
let late = 0;
let errors: unknown[] = [];

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 3_000 });
  uncaught = watchUncaught();
  seen = [];
  late = 0;
  errors = [];
  const changed = new Channel<void>();
  listener = await listenHttps({
    host: '127.0.0.1',
    port: 0,
    flag: '--port',
    handler: (request) => {
      seen.push(request.path);
      if (request.signal.aborted) late++;
      return answerAllWays(request);
    },
    proxyUpgrade: switchProtocols,
    onError: (err) => void errors.push(err),
    certificate: { current: () => ({ certPem: server.cert, keyPem: server.key }), changed },
    clientAuthorities: { pem: () => authority.cert, changed },
    minVersion: 'TLSv1.2',
    ciphers: 'TLS_AES_128_GCM_SHA256',
    limits: fuzzLimits,
  });
});

afterEach(async () => {
  const stillAnswers = [await ask(), await askHttp2()];
  await listener.close();
  uncaught.stop();
  expect({ stillAnswers, late, errors, uncaught: uncaught.errors }).toEqual({
    stillAnswers: [200, 200],
    late: 0,
    errors: [],
    uncaught: [],
  });
  await leaks.assertNone();
});

const openTcp = () => connectTcp(listener.port, listener.host);

function openTls(protocol: 'h2' | 'http/1.1'): () => TLSSocket {
  return () =>
    connectTls({ host: listener.host, port: listener.port, ca: authority.cert, ALPNProtocols: [protocol] });
}

function ask(): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { host, port } = listener;
    const outgoing = httpsRequest({ host, port, ca: authority.cert, agent: false }, (incoming) => {
      incoming.resume();
      incoming.once('end', () => resolve(incoming.statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

async function askHttp2(): Promise<number | undefined> {
  const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { ca: authority.cert });
  try {
    return await new Promise((resolve, reject) => {
      session.once('error', reject);
      const stream = session.request({ ':path': '/' });
      stream.once('error', reject);
      stream.once('response', (headers) => resolve(headers[':status']));
      stream.resume();
    });
  } finally {
    session.close();
  }
}

/** The beginning of a handshake with an empty ClientHello, and a request that should have been encrypted. */
const handshakes = [
  Buffer.from([0x16, 3, 1, 0, 4, 1, 0, 0, 0]),
  Buffer.from([0x16, 3, 1, 0xff, 0xff, 1, 0, 0xff, 0xff, 3, 3]),
  Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
];

describe('the secure port', () => {
  test('closes connections that do not complete the handshake', async () => {
    const inputs = fc.sample(fc.oneof(randomBytes, pieced(mutated(handshakes))), {
      seed: fuzzSeed,
      numRuns: 64,
    });
    await exchangeAll(openTcp, [[], ...handshakes.map((each) => [each]), ...inputs]);
    expect(seen).toEqual([]);
  });

  test('answers or closes connections that send mutated requests of HTTP/1.1', async () => {
    const inputs = fc.sample(http1Inputs, { seed: fuzzSeed + 1, numRuns: 48 });
    const bodies = smuggling.map(([, text]) => [Buffer.from(text)]);
    const results = await exchangeAll(openTls('http/1.1'), [...inputs, ...bodies]);
    for (const { got } of results) expect(got.toString('latin1')).toMatch(/^(HTTP\/1\.1 [1-5]\d\d |$)/);
    expect(seen).not.toContain('/smuggled');
    expect(seen.length).toBeGreaterThan(5);
  });

  test('answers or closes connections that send mutated frames of HTTP/2', async () => {
    await exchangeAll(openTls('h2'), fc.sample(http2Inputs, { seed: fuzzSeed, numRuns: 64 }));
    expect(seen.length).toBeGreaterThan(5);
  });

  test('answers or closes connections that send odd headers or floods of HTTP/2', async () => {
    const inputs = [...oddRequests, ...floods.map(([, frames]) => frames)];
    await exchangeAll(
      openTls('h2'),
      inputs.map((each) => [each]),
    );
    // The listener itself answers a target that is not a path.
    expect(seen.filter((path) => !path.startsWith('/') || path.includes('%'))).toEqual([]);
  });
});
