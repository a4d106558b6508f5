// Probes of servers that answered in time, while the kubelet's own event loop was blocked until after the probe's deadline.
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { closeServers, listen } from './fixtures/servers.ts';
import { httpProbe } from './http-probe.ts';
import { tcpProbe } from './tcp-probe.ts';

let leaks: LeakCheck;
beforeEach(() => {
  leaks = checkLeaks();
});
afterEach(async () => {
  await closeServers();
  await leaks.assertNone();
});

const { signal } = new AbortController();
const host = '127.0.0.1';

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a TCP probe succeeds if the connection was accepted in time', async () => {
  const port = await listen(createServer((socket) => socket.resume()));
  const answer = tcpProbe({ host, port, timeoutMs: 20 }, signal);
  block(60);
  expect(await answer).toEqual({ result: 'success', output: '' });
});

test('an HTTP probe succeeds if the response arrived in time', async () => {
  const [requested, answered] = [1, 2];
  const state = new Int32Array(new SharedArrayBuffer(4));
  // On another thread, since this one is blocked when the server responds.
  const worker = new Worker(
    `const { createServer } = require('node:http');
     const { parentPort, workerData: state } = require('node:worker_threads');
     const server = createServer((request, response) => {
       Atomics.store(state, 0, ${requested});
       Atomics.notify(state, 0);
       setTimeout(() => response.end('fine', () => {
         Atomics.store(state, 0, ${answered});
         Atomics.notify(state, 0);
       }), 20);
     });
     server.listen(0, '${host}', () => parentPort.postMessage(server.address().port));`,
    { eval: true, workerData: state },
  );
  try {
    const port = await new Promise<number>((resolve) => worker.once('message', resolve));
    const request = { scheme: 'http', host, port, path: '/', headers: [], timeoutMs: 2_000 } as const;
    const answer = httpProbe(request, signal);
    const deadlineMs = performance.now() + request.timeoutMs;
    while (Atomics.load(state, 0) < requested) await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(state, 0, requested);
    block(deadlineMs - performance.now() + 50);
    expect(await answer).toEqual({ result: 'success', output: 'fine' });
  } finally {
    await worker.terminate();
  }
});
