import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { isAbort } from '../../base/errors.ts';
import { closeServers, listen } from './fixtures/servers.ts';
import { dialText } from './go-error.ts';
import { tcpProbe } from './tcp-probe.ts';

let leaks: LeakCheck;
beforeEach(() => {
  leaks = checkLeaks();
});
afterEach(async () => {
  await closeServers();
  await leaks.assertNone();
});
const signal = new AbortController().signal;
const host = '127.0.0.1';

test('succeeds if the connection is accepted, and closes it', async () => {
  let closed = (): void => undefined;
  const ended = new Promise<void>((resolve) => (closed = resolve));
  const port = await listen(
    createServer((socket) => socket.on('close', closed).on('error', closed).resume()),
  );
  expect(await tcpProbe({ host, port, timeoutMs: 5_000 }, signal)).toEqual({ result: 'success', output: '' });
  await ended;
});

test('succeeds for a server that never closes, and leaves nothing open', async () => {
  const port = await listen(createServer({ allowHalfOpen: true }, (socket) => socket.pause()));
  expect(await tcpProbe({ host, port, timeoutMs: 5_000 }, signal)).toEqual({ result: 'success', output: '' });
});

test('fails if the connection is refused', async () => {
  const port = await listen(createServer());
  await closeServers();
  expect(await tcpProbe({ host, port, timeoutMs: 5_000 }, signal)).toEqual({
    result: 'failure',
    output: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
  });
});

test('fails if there is no response', async () => {
  // A documentation address: either unreachable at once, or the probe times out.
  const answer = await tcpProbe({ host: '192.0.2.1', port: 9, timeoutMs: 50 }, signal);
  expect(answer.result).toBe('failure');
  expect(answer.output).toMatch(/^dial tcp 192\.0\.2\.1:9: /);
});

test('rejects when aborted before or during the connection', async () => {
  const stop = new AbortController();
  const probe = tcpProbe({ host: '192.0.2.1', port: 9, timeoutMs: 5_000 }, stop.signal);
  stop.abort();
  const first: unknown = await probe.catch((err: unknown) => err);
  expect(isAbort(first)).toBe(true);
  await expect(tcpProbe({ host, port: 9, timeoutMs: 5_000 }, stop.signal)).rejects.toThrow();
});

const coded = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
for (const [err, want] of [
  [coded('EHOSTUNREACH'), 'dial tcp [::1]:80: connect: no route to host'],
  [coded('ENOTFOUND'), 'dial tcp: lookup ::1: no such host'],
  [new AggregateError([coded('ECONNREFUSED')]), 'dial tcp [::1]:80: connect: connection refused'],
  [new Error('odd'), 'dial tcp [::1]:80: odd'],
] as const) {
  test(`dialText: ${want}`, () => expect(dialText(err, '::1', 80)).toBe(want));
}
