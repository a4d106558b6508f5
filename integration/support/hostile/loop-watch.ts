// Watches how long the kubelet's own work keeps its event loop busy, by the kubelet's metrics.
// Invariant: time in which the main thread was runnable but had no CPU is not the kubelet's, so it is discounted. A machine that
// is busy with other work therefore does not make a test fail, and a kubelet that blocks its loop does, however busy the machine.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubelet } from '../../rig/kubelet.ts';

/** The longest that one turn of the event loop may take. */
export const loopLimitMs = 250;
const everyMs = 200;
const answerMs = 2_000;

interface Reading {
  readonly atMs: number;
  /** All delays that the kubelet counted, summed up. */
  readonly delayMs: number;
  /** The longest of the last minute. */
  readonly longestMs: number;
  /** How many of them were longer than the limit. */
  readonly long: number;
  /** What the main thread has waited for a CPU since it started. */
  readonly starvedMs: number;
}

export class LoopWatch {
  readonly #kubelet: Kubelet;
  readonly #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #longestMs = 0;
  #starvedMs = 0;

  constructor(kubelet: Kubelet) {
    this.#kubelet = kubelet;
  }

  start(): void {
    this.#ended = this.#loop();
  }

  /** The longest that the kubelet blocked its loop since the last call, at most by so much. */
  takeLongestMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return Math.round(longestMs);
  }

  /** How long the kubelet had to wait for a CPU since the start of the watch. */
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
        this.#note(performance.now() - before.atMs - everyMs - this.#starvedSince(before));
      else {
        this.#compare(before, now);
        before = now;
      }
    }
  }

  #starvedSince({ starvedMs }: Reading): number {
    return this.#starvation() - starvedMs;
  }

  #compare(before: Reading, now: Reading): void {
    const starvedMs = now.starvedMs - before.starvedMs;
    this.#starvedMs += starvedMs;
    if (now.long === before.long) return;
    // Neither is less than the longest delay between the two readings.
    this.#note(Math.min(now.delayMs - before.delayMs, now.longestMs) - starvedMs);
  }

  #note(ms: number): void {
    this.#longestMs = Math.max(this.#longestMs, ms);
  }

  /** Undefined when the kubelet does not answer in time. */
  async #read(): Promise<Reading | undefined> {
    try {
      const url = `http://127.0.0.1:${this.#kubelet.readOnlyPort}/metrics`;
      const response = await fetch(url, { signal: AbortSignal.timeout(answerMs) });
      const text = await response.text();
      const name = 'kubelet_event_loop_delay_seconds';
      const sample = (series: string): number => {
        const at = text.indexOf(`\n${series} `);
        if (at < 0) throw new Error(`there is no series ${series}`);
        return Number.parseFloat(text.slice(at + series.length + 2));
      };
      return {
        atMs: performance.now(),
        delayMs: sample(`${name}_sum`) * 1000,
        longestMs: sample('kubelet_event_loop_delay_max_seconds') * 1000,
        long: sample(`${name}_count`) - sample(`${name}_bucket{le="${loopLimitMs / 1000}"}`),
        starvedMs: this.#starvation(),
      };
    } catch {
      return undefined;
    }
  }

  /** Of the main thread: the second field is the time on the run queue. */
  #starvation(): number {
    const pid = this.#kubelet.pid ?? 0;
    try {
      const [, waitedNs = '0'] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
      return Number(waitedNs) / 1e6;
    } catch {
      return 0;
    }
  }
}
