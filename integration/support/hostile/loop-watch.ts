// Measures how long the kubelet's own work blocks its event loop, by the kubelet's metrics.
// Invariant: time in which the main thread was runnable without a CPU is discounted, and so is more than the thread has
// run. So a busy machine does not fail a test, and a kubelet that computes for too long does, however busy the machine.
// A kubelet that blocks in a system call instead is detected by its missing responses.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubelet } from '../../rig/kubelet.ts';

/** The longest allowed turn of the event loop. */
export const loopLimitMs = 250;
const everyMs = 200;
/** A kubelet that does not respond for longer is blocked. */
const answerMs = 5_000;

interface Reading {
  readonly atMs: number;
  /** The sum of all delays. */
  readonly delayMs: number;
  /** The longest delay of the last minute. */
  readonly longestMs: number;
  /** The number of delays above the limit. */
  readonly long: number;
  readonly main: ThreadTimes;
}

/** Times of the main thread since its start. */
interface ThreadTimes {
  readonly ranMs: number;
  /** Runnable without a CPU. */
  readonly starvedMs: number;
}

/** Reads the kubelet's /metrics; rejects after the timeout. */
export type ReadMetrics = (withinMs: number) => Promise<string>;

export class LoopWatch {
  readonly #kubelet: Kubelet;
  readonly #readMetrics: ReadMetrics;
  readonly #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #longestMs = 0;
  #starvedMs = 0;

  constructor(kubelet: Kubelet, readMetrics: ReadMetrics) {
    this.#kubelet = kubelet;
    this.#readMetrics = readMetrics;
  }

  start(): void {
    this.#ended = this.#loop();
  }

  /** An upper bound of the longest time that the kubelet blocked its loop since the last call. */
  takeLongestMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return Math.round(longestMs);
  }

  /** How long the kubelet waited for a CPU since the start of the measurement. */
  get starvedMs(): number {
    return Math.round(this.#starvedMs);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #loop(): Promise<void> {
    let before = await this.#read();
    while (!this.#stop.signal.aborted) {
      await sleep(everyMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      const now = await this.#read();
      if (before === undefined) before = now;
      else if (now === undefined)
        this.#note(performance.now() - before.atMs - (this.#mainThread().starvedMs - before.main.starvedMs));
      else {
        this.#compare(before, now);
        before = now;
      }
    }
  }

  #compare(before: Reading, now: Reading): void {
    const starvedMs = now.main.starvedMs - before.main.starvedMs;
    this.#starvedMs += starvedMs;
    if (now.long === before.long) return;
    // Each of these is an upper bound of the kubelet's share in the longest delay between the two readings.
    const delayMs = Math.min(now.delayMs - before.delayMs, now.longestMs) - starvedMs;
    this.#note(Math.min(delayMs, now.main.ranMs - before.main.ranMs));
  }

  #note(ms: number): void {
    this.#longestMs = Math.max(this.#longestMs, ms);
  }

  /** Undefined if the kubelet does not respond in time. */
  async #read(): Promise<Reading | undefined> {
    try {
      const text = await this.#readMetrics(answerMs);
      const name = 'kubelet_event_loop_delay_seconds';
      const sample = (series: string): number => {
        const at = text.indexOf(`\n${series} `);
        if (at < 0) throw new Error(`missing series ${series}`);
        return Number.parseFloat(text.slice(at + series.length + 2));
      };
      return {
        atMs: performance.now(),
        delayMs: sample(`${name}_sum`) * 1000,
        longestMs: sample('kubelet_event_loop_delay_max_seconds') * 1000,
        long: sample(`${name}_count`) - sample(`${name}_bucket{le="${loopLimitMs / 1000}"}`),
        main: this.#mainThread(),
      };
    } catch {
      return undefined;
    }
  }

  #mainThread(): ThreadTimes {
    const pid = this.#kubelet.pid ?? 0;
    try {
      const [ranNs = '0', waitedNs = '0'] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(
        ' ',
      );
      return { ranMs: Number(ranNs) / 1e6, starvedMs: Number(waitedNs) / 1e6 };
    } catch {
      return { ranMs: 0, starvedMs: 0 };
    }
  }
}
