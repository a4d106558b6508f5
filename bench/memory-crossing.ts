// Watches the machine's available memory as eviction reads it, and finds the moments at which it crosses a threshold.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { realClock } from '../src/base/clock.ts';
import { findHierarchies } from '../src/edge/cgroup/hierarchies.ts';
import { statsHost } from '../src/edge/stats/stats-host.ts';

const everyMs = 5;

const { cgroups } = statsHost(realClock, await findHierarchies(), {
  memoryBytes: totalmem(),
  swapBytes: 0,
  onUnreadable: () => undefined,
});

/** The figure behind the signal memory.available. */
export function availableBytes(): number {
  const load = cgroups?.memory('/');
  if (load === undefined) throw new Error('the memory of the machine cannot be read');
  return load.limitBytes - load.workingSetBytes;
}

/** The time since boot in milliseconds, which containers see as well; exact to 10 ms. */
export function uptimeMs(text: string = readFileSync('/proc/uptime', 'utf8')): number {
  return Number(text.split(' ')[0]) * 1000;
}

/** Samples in the background until stopped. */
export class MemoryCrossing {
  /** Since boot; undefined until it happens. */
  crossedMs: number | undefined;
  /** The first time at or above the threshold after it was crossed. */
  recoveredMs: number | undefined;
  leastBytes = Number.POSITIVE_INFINITY;
  readonly #timer: NodeJS.Timeout;

  constructor(thresholdBytes: number) {
    this.#timer = setInterval(() => this.#sample(availableBytes(), thresholdBytes), everyMs);
  }

  #sample(bytes: number, thresholdBytes: number): void {
    this.leastBytes = Math.min(this.leastBytes, bytes);
    if (bytes < thresholdBytes) {
      this.crossedMs ??= uptimeMs();
      this.recoveredMs = undefined;
    } else if (this.crossedMs !== undefined) this.recoveredMs ??= uptimeMs();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
