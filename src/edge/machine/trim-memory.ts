// Runs a full garbage collection, which returns unused memory to the machine. V8 keeps the memory of a burst until the next
// full collection, which an idle process may never reach.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** Blocks the event loop for some tens of milliseconds. Call it only while the process is idle. */
export function trimMemory(): void {
  collect ??= exposeGc();
  collect();
}

/** The flag takes effect for contexts created after it is set. */
function exposeGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Reads one file of /proc. */
export function residentBytes(): number {
  return process.memoryUsage.rss();
}
