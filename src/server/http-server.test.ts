import { expect, test } from 'vitest';
import { type LogFields, type Logger, silentLogger } from '../base/log/log.ts';
import type { HttpHandler } from './http-message.ts';
import { HttpServer } from './http-server.ts';

const handler: HttpHandler = () => ({ status: 200, headers: {}, body: 'hello' });

function bench() {
  const calls: string[] = [];
  const logged: [string, LogFields | undefined][] = [];
  const log: Logger = { ...silentLogger, info: (message, fields) => void logged.push([message, fields]) };
  const server = new HttpServer({
    name: 'healthz',
    handler,
    log,
    listen: async (given) => {
      calls.push(given === handler ? 'listen' : 'another handler');
      return {
        host: '127.0.0.1',
        port: 10248,
        close: async () => {
          calls.push('close');
        },
      };
    },
  });
  return { calls, logged, server };
}

test('listens when started, logs its address, and closes when stopped', async () => {
  const { calls, logged, server } = bench();
  expect(calls).toEqual([]);
  const stop = new AbortController();
  const { stopped } = await server.start(stop.signal);
  expect(calls).toEqual(['listen']);
  expect(logged).toEqual([['Listening', { server: 'healthz', address: '127.0.0.1', port: 10248 }]]);
  stop.abort();
  await stopped;
  expect(calls).toEqual(['listen', 'close']);
});

test('closes again if stopped before it listened', async () => {
  const { calls, server } = bench();
  const { stopped } = await server.start(AbortSignal.abort());
  await stopped;
  expect(calls).toEqual(['listen', 'close']);
});

test('fails the start if it cannot listen', async () => {
  const server = new HttpServer({
    name: 'healthz',
    handler,
    log: silentLogger,
    listen: () => Promise.reject(new Error('in use')),
  });
  await expect(server.start(new AbortController().signal)).rejects.toThrow('in use');
});
