// Hostile bytes on a plain port. The server must survive, close every connection and keep answering.
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  answerAllWays,
  exchangeAll,
  fuzzLimits,
  fuzzSeed,
  http1Inputs,
  randomBytes,
  smuggling,
  switchProtocols,
  watchUncaught,
} from '../../../test/clients/raw-clients.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { type HttpListener, listenHttp } from './listen-http.ts';

let leaks: LeakCheck;
let uncaught: ReturnType<typeof watchUncaught>;
let listener: HttpListener;
let seen: string[] = [];
let errors: unknown[] = [];

beforeEach(async () => {
  leaks = checkLeaks({ settleMs: 3_000 });
  uncaught = watchUncaught();
  seen = [];
  errors = [];
  listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    flag: '--healthz-port',
    handler: (request) => {
      seen.push(request.path);
      return answerAllWays(request);
    },
    proxyUpgrade: switchProtocols,
    onError: (err) => void errors.push(err),
    limits: fuzzLimits,
  });
});

afterEach(async () => {
  const stillAnswers = await ask('/still-there');
  await listener.close();
  uncaught.stop();
  expect({ stillAnswers, errors, uncaught: uncaught.errors }).toEqual({
    stillAnswers: 200,
    errors: [],
    uncaught: [],
  });
  await leaks.assertNone();
});

const open = () => connect(listener.port, listener.host);

function ask(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { host, port } = listener;
    const outgoing = httpRequest({ host, port, path, agent: false }, (incoming) => {
      incoming.resume();
      incoming.once('end', () => resolve(incoming.statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

describe('the plain port', () => {
  test('closes connections that send random bytes', async () => {
    const results = await exchangeAll(open, fc.sample(randomBytes, { seed: fuzzSeed, numRuns: 60 }));
    for (const { got } of results) expect(got.toString('latin1')).toMatch(/^(HTTP\/1\.1 400 |$)/);
    expect(seen).toEqual([]);
  });

  test('answers or closes connections that send mutated requests', async () => {
    const results = await exchangeAll(open, fc.sample(http1Inputs, { seed: fuzzSeed, numRuns: 128 }));
    for (const { got } of results) expect(got.toString('latin1')).toMatch(/^(HTTP\/1\.1 [1-5]\d\d |$)/);
    const statuses = new Set(results.map(({ got }) => got.toString('latin1', 9, 12)));
    expect([...statuses]).toEqual(expect.arrayContaining(['200', '400']));
    expect(seen.length).toBeGreaterThan(20);
  });

  test('does not parse a body as a request', async () => {
    await exchangeAll(
      open,
      smuggling.flatMap(([, text]) => [
        [Buffer.from(text)],
        text.split('').map((letter) => Buffer.from(letter)),
      ]),
    );
    expect(seen).not.toContain('/smuggled');
  });

  test('closes a connection that requests an upgrade before its first request is answered', async () => {
    const upgrade = 'HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
    const results = await exchangeAll(
      open,
      ['/', '/upgrade'].map((path) => [
        Buffer.from(`GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET ${path} ${upgrade}`),
      ]),
    );
    expect(results.map(({ got }) => got.toString())).toEqual(['', '']);
    expect(seen).toEqual(['/first', '/first']);
  });

  test('releases the response of a client that disconnected before it was complete', async () => {
    const socket = open();
    socket.write('GET /abandoned HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => seen).toEqual(['/abandoned']);
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    // The response is larger than the limit of unread bytes: if it were never released, all other clients would be rejected.
    expect(await ask('/')).toBe(200);
  });

  test('closes the connection of a response that cannot be written, and reports it', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';
    const results = await exchangeAll(
      open,
      ['', upgrade].map((more) => [Buffer.from(`GET /bad-header HTTP/1.1\r\nHost: x\r\n${more}\r\n`)]),
    );
    expect(results.map(({ got }) => got.toString())).toEqual(['', '']);
    expect(errors.splice(0)).toMatchObject([{ code: 'ERR_INVALID_CHAR' }, { code: 'ERR_INVALID_CHAR' }]);
  });
});
