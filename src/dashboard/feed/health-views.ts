// The kubelet's own health: checks, loops, calls in flight, event loop, process.
// Invariant: the event loop is measured only while a viewer watches.

import type { LoopDelaySteps } from '../../api/ports/loop-delay.ts';
import type { InFlightCall, KubeletHealth, LoopView } from '../../api/ports/node-page.ts';
import type { ProcessLoad } from '../../api/ports/process-figures.ts';
import type { Clock } from '../../base/clock.ts';
import { boundText } from './event-stream.ts';
import type { Check } from './node-views.ts';

/** The load of the kubelet's loops, and its calls to the outside that have not been answered. */
export interface LoadRecords {
  loopViews(): readonly LoopView[];
  calls(): readonly InFlightCall[];
}

interface HealthViewsDeps {
  readonly checks: readonly Check[];
  readonly records: LoadRecords;
  readonly process: { load(): ProcessLoad };
  readonly loopDelay: LoopDelaySteps;
  readonly clock: Pick<Clock, 'monotonic'>;
}

const lookBackMs = 60_000;
/** Longer than the time between two views. */
const watchMs = 5_000;
const textLength = 500;
const entryLimit = 200;

export class HealthViews {
  readonly #deps: HealthViewsDeps;
  #before: { readonly cpuSeconds: number; readonly atMs: number } | undefined;

  constructor(deps: HealthViewsDeps) {
    this.#deps = deps;
  }

  view(viewers: number): KubeletHealth {
    const { checks, clock, loopDelay, process, records } = this.#deps;
    loopDelay.watch(watchMs);
    const { cpuSeconds, heapUsedBytes, openFiles, residentBytes } = process.load();
    return {
      checks: checks.map((each) => {
        const problem = each.check();
        return {
          name: each.name,
          ...(problem === undefined ? {} : { problem: boundText(problem, textLength) }),
        };
      }),
      loops: records.loopViews().slice(0, entryLimit),
      calls: records.calls().slice(0, entryLimit),
      loopDelayMs: summarize(loopDelay.longestSinceMs(clock.monotonic() - lookBackMs)),
      cpuMillis: this.#cpuMillis(cpuSeconds),
      rssBytes: residentBytes,
      heapBytes: heapUsedBytes,
      openFiles,
      viewers,
    };
  }

  #cpuMillis(cpuSeconds: number): number | null {
    const atMs = this.#deps.clock.monotonic();
    const before = this.#before;
    this.#before = { cpuSeconds, atMs };
    if (before === undefined || atMs <= before.atMs || atMs - before.atMs > watchMs) return null;
    return Math.round(((cpuSeconds - before.cpuSeconds) * 1e6) / (atMs - before.atMs));
  }
}

/** Of the longest delay of each quarter of a second. */
function summarize(delaysMs: readonly number[]): KubeletHealth['loopDelayMs'] {
  const sorted = delaysMs.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
