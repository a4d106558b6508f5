// The entry point of the thread that measures the disk usage of directory trees. Started by
// src/edge/volumes/usage/usage-thread-client.ts; lies beside main in the bundle.
// Invariants: the walks take turns of turnMs, so that a large tree does not delay small ones; the current walk and its progress
// are in memory shared with the main thread, which detects a hung file system from them.
import { parentPort, workerData } from 'node:worker_threads';
import type { DiskUsage } from '../api/ports/volume-host.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import { errorCode } from '../edge/syscalls/syscalls-errors.ts';
import {
  type UsageAnswer,
  type UsageRequest,
  usageState,
} from '../edge/volumes/usage/usage-thread-client.ts';
import { walkUsage } from '../edge/volumes/usage/walk-usage.ts';

type Walk = Generator<undefined, DiskUsage>;

const turnMs = 20;
const walks = new Map<number, Walk>();
const state = new Int32Array(workerData as SharedArrayBuffer);
let isRunning = false;

parentPort?.on('message', (request: UsageRequest) => {
  if ('path' in request) walks.set(request.id, walkUsage(request.path));
  else cancel(request.cancel);
  if (!isRunning) runTurn();
});

function runTurn(): void {
  for (const [id, walk] of walks) {
    Atomics.store(state, usageState.current, id);
    const answer = advance(id, walk);
    if (answer === undefined) continue;
    walks.delete(id);
    send(answer);
  }
  Atomics.store(state, usageState.current, 0);
  isRunning = walks.size > 0;
  // Lets requests in between turns.
  if (isRunning) setImmediate(runTurn);
}

function advance(id: number, walk: Walk): UsageAnswer | undefined {
  const untilMs = performance.now() + turnMs;
  try {
    do {
      Atomics.add(state, usageState.steps, 1);
      const { done, value } = walk.next();
      if (done === true) return { id, usage: value };
    } while (performance.now() < untilMs);
    return undefined;
  } catch (err) {
    const code = err instanceof KubeletError ? err.reason : errorCode(err);
    return { id, code, message: describeError(err) };
  }
}

function cancel(id: number): void {
  walks.get(id)?.return({ bytes: 0, inodes: 0, source: 'du' });
  walks.delete(id);
  send({ id, code: 'Cancelled', message: 'given up' });
}

function send(answer: UsageAnswer): void {
  // The empty transfer list: everything is copied.
  parentPort?.postMessage(answer, []);
}
