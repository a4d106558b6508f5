// The samples of the last five minutes, of the node and of every pod, in one ring. Kept outside the page's state, since it
// changes every second and only what is visible draws it. Invariant: all series share the ring's positions.
import type { Usage, UsageSample } from '../../src/api/ports/node-page.ts';

export type UsageKind = 'cpu' | 'memory';

interface Series {
  readonly cpu: Float64Array;
  readonly memory: Float64Array;
  /** How many samples have been taken when the pod was last in one. */
  lastSeen: number;
}

export const nodeKey = '';
const longest = 300;
/** Between samples that still belong to one plot: the views change within it. */
const longestGapMs = 15_000;

export class UsageHistory {
  readonly #times = new Float64Array(longest);
  readonly #series = new Map<string, Series>();
  #taken = 0;
  #latest: UsageSample | undefined;

  get length(): number {
    return Math.min(this.#taken, longest);
  }

  get latest(): UsageSample | undefined {
    return this.#latest;
  }

  /**
   * What a new connection to the same process sends first. With another viewer the kubelet has earlier samples; without one it has
   * sampled nothing since the previous connection, of which the page keeps its own.
   */
  continueWith(samples: readonly UsageSample[]): void {
    const oldestMs = this.times()[0] ?? Number.POSITIVE_INFINITY;
    const latestMs = this.#latest?.atMs ?? Number.NEGATIVE_INFINITY;
    const [first] = samples;
    if (first === undefined) return;
    if (first.atMs <= oldestMs || first.atMs - latestMs > longestGapMs) this.reset(samples);
    else for (const sample of samples) this.push(sample);
  }

  /** Replaces everything. */
  reset(samples: readonly UsageSample[]): void {
    this.#series.clear();
    this.#taken = 0;
    this.#latest = undefined;
    for (const sample of samples.slice(-longest)) this.push(sample);
  }

  push(sample: UsageSample): void {
    // A sample that both `samples` and `usage` carried.
    if (this.#latest !== undefined && sample.atMs <= this.#latest.atMs) return;
    const at = this.#taken % longest;
    this.#taken += 1;
    this.#latest = sample;
    this.#times[at] = sample.atMs;
    for (const [key, series] of this.#series) {
      if (this.#taken - series.lastSeen > longest) this.#series.delete(key);
      series.cpu[at] = Number.NaN;
      series.memory[at] = Number.NaN;
    }
    this.#put(nodeKey, sample.node, at);
    for (const [uid, usage] of Object.entries(sample.pods)) this.#put(uid, usage, at);
  }

  #put(key: string, [cpu, memory]: Usage, at: number): void {
    let series = this.#series.get(key);
    if (series === undefined) {
      const empty = () => new Float64Array(longest).fill(Number.NaN);
      series = { cpu: empty(), memory: empty(), lastSeen: 0 };
      this.#series.set(key, series);
    }
    series.lastSeen = this.#taken;
    series.cpu[at] = cpu ?? Number.NaN;
    series.memory[at] = memory ?? Number.NaN;
  }

  /** The newest values, oldest first; NaN where nothing was measured. */
  values(key: string, kind: UsageKind, newest = longest): Float64Array {
    const series = this.#series.get(key)?.[kind];
    return this.#inOrder((at) => series?.[at] ?? Number.NaN, newest);
  }

  times(newest = longest): Float64Array {
    return this.#inOrder((at) => this.#times[at] ?? Number.NaN, newest);
  }

  /** The newest value; NaN if the newest sample has none. */
  now(key: string, kind: UsageKind): number {
    if (this.#taken === 0) return Number.NaN;
    return this.#series.get(key)?.[kind][(this.#taken - 1) % longest] ?? Number.NaN;
  }

  #inOrder(read: (at: number) => number, newest: number): Float64Array {
    const length = Math.min(this.length, newest);
    const begin = this.#taken - length;
    return Float64Array.from({ length }, (_, index) => read((begin + index) % longest));
  }
}
