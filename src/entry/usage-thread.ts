// The entry point of the thread that measures trees; it is started by usage-thread-client.ts and lies beside main in the bundle.
// Invariant: the trees are measured in turn, each for a moment, so that a large one does not hold up the small ones; which one is
// worked on, and that it goes on, is in memory shared with the main thread, which sees from it when a file system hangs.
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
  if (!isRunning) turn();
});

function turn(): void {
  for (const [id, walk] of walks) {
    Atomics.store(state, usageState.current, id);
    const answer = workOn(id, walk);
    if (answer === undefined) continue;
    walks.delete(id);
    tell(answer);
  }
  Atomics.store(state, usageState.current, 0);
  isRunning = walks.size > 0;
  // Requests come in between.
  if (isRunning) setImmediate(turn);
}

function workOn(id: number, walk: Walk): UsageAnswer | undefined {
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
  tell({ id, code: 'Cancelled', message: 'given up' });
}

function tell(answer: UsageAnswer): void {
  // The list: nothing is handed over, everything is copied.
  parentPort?.postMessage(answer, []);
}
