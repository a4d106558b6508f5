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

test('a connection that was accepted in time is success', async () => {
  const port = await listen(createServer((socket) => socket.resume()));
  const answer = tcpProbe({ host, port, timeoutMs: 20 }, signal);
  block(60);
  expect(await answer).toEqual({ result: 'success', output: '' });
});

test('an HTTP answer that arrived in time is success', async () => {
  const [asked, answered] = [1, 2];
  const state = new Int32Array(new SharedArrayBuffer(4));
  // On a thread of its own, since this one is blocked when it answers.
  const worker = new Worker(
    `const { createServer } = require('node:http');
     const { parentPort, workerData: state } = require('node:worker_threads');
     const server = createServer((request, response) => {
       Atomics.store(state, 0, ${asked});
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
    while (Atomics.load(state, 0) < asked) await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(state, 0, asked);
    block(deadlineMs - performance.now() + 50);
    expect(await answer).toEqual({ result: 'success', output: 'fine' });
  } finally {
    await worker.terminate();
  }
});
