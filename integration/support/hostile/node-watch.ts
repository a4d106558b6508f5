// Measures the impact of a hostile pod on the rest of the node: the neighbour's readiness and restarts, the node's
// lease, the kubelet's event loop and memory, and the canary files.
// Invariant: observes every status of the neighbour and every renewal of the lease, not samples.
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../src/api/k8s/types.ts';
import type { Kubelet } from '../../rig/kubelet.ts';
import { slowness } from '../../rig/wait.ts';
import { type Cluster, isReady } from '../cluster.ts';
import type { Canary } from './canary.ts';
import { LoopWatch, loopLimitMs, type ReadMetrics } from './loop-watch.ts';

export const neighbourName = 'neighbour';
export const leaseSeconds = 8;
/** The allowed growth of the kubelet's memory since before the first attack. */
export const rssLimitMib = 100;
const shownFaults = 10;
/** The kubelet releases memory some ten quiet seconds after pods have ended; most attacks need none of this time. */
const settleMs = 40_000;

interface Findings {
  readonly loopBlockedMs: number;
  readonly rssGrowthMib: number;
  readonly peakGrowthMib: number;
  readonly leaseGapMs: number;
  readonly faults: readonly string[];
}

export class NodeWatch {
  readonly #cluster: Cluster;
  readonly #kubelet: Kubelet;
  readonly #canary: Canary;
  readonly #loop: LoopWatch;
  readonly #faults: string[] = [];
  #unsubscribe: () => void = () => undefined;
  #rssMib = 0;
  #renewedMs = 0;
  #longestGapMs = 0;
  #logEnd = 0;

  constructor(cluster: Cluster, kubelet: Kubelet, canary: Canary, readMetrics: ReadMetrics) {
    this.#cluster = cluster;
    this.#kubelet = kubelet;
    this.#canary = canary;
    this.#loop = new LoopWatch(kubelet, readMetrics);
  }

  /** Called when the neighbour is ready and the node has its lease. */
  start(): void {
    this.#renewedMs = performance.now();
    this.#rssMib = this.#memory().rssMib;
    this.#logEnd = this.#kubelet.log.end;
    this.#unsubscribe = this.#cluster.double.store.subscribe(({ type, after, last }) => {
      if (JSON.stringify(after ?? {}).includes(this.#canary.secret))
        this.#faults.push(`the canary's secret is in ${type.plural}/${last.metadata.name}`);
      if (type.plural === 'leases' && last.metadata.name === this.#cluster.nodeName) this.#renewed();
      if (type.plural === 'pods' && last.metadata.name === neighbourName)
        this.#neighbourChanged(after as Pod | undefined);
    });
    this.#loop.start();
  }

  /** Resets the measurements before an attack. */
  begin(): void {
    // 5 resets the peak memory that the kernel tracks.
    writeFileSync(`/proc/${this.#kubelet.pid}/clear_refs`, '5');
    this.#loop.takeLongestMs();
    this.#longestGapMs = 0;
    this.#faults.length = 0;
  }

  /** The impact of the attack. Waits for memory to settle. */
  async findings(): Promise<Findings> {
    const { peakMib } = this.#memory();
    await this.#untilSettled();
    this.#noteGap(performance.now());
    const faults = [...this.#faults, ...this.#canary.faults(), ...this.#leaks()];
    return {
      loopBlockedMs: this.#loop.takeLongestMs(),
      rssGrowthMib: Math.round(this.#memory().rssMib - this.#rssMib),
      peakGrowthMib: Math.round(peakMib - this.#rssMib),
      leaseGapMs: Math.round(this.#longestGapMs),
      faults,
    };
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
  }

  async #untilSettled(): Promise<void> {
    const deadlineMs = performance.now() + settleMs * slowness;
    while (this.#memory().rssMib - this.#rssMib > rssLimitMib && performance.now() < deadlineMs)
      await sleep(100);
  }

  #memory(): { readonly rssMib: number; readonly peakMib: number } {
    const text = readFileSync(`/proc/${this.#kubelet.pid}/status`, 'utf8');
    const mib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) / 1024;
    return { rssMib: mib('VmRSS'), peakMib: mib('VmHWM') };
  }

  #renewed(): void {
    const nowMs = performance.now();
    this.#noteGap(nowMs);
    this.#renewedMs = nowMs;
  }

  #noteGap(nowMs: number): void {
    this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#renewedMs);
  }

  #neighbourChanged(pod: Pod | undefined): void {
    const statuses = pod?.status?.containerStatuses ?? [];
    const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
    if (pod === undefined) this.#faults.push('the neighbour is gone');
    else if (restarts > 0) this.#faults.push(`the neighbour restarted: ${JSON.stringify(statuses)}`);
    else if (!isReady(pod.status))
      this.#faults.push(`the neighbour is not ready: ${JSON.stringify(pod.status)}`);
  }

  #leaks(): readonly string[] {
    const logText = this.#kubelet.log.text().slice(this.#logEnd);
    return logText.includes(this.#canary.secret) ? ["the canary's secret is in the kubelet's log"] : [];
  }
}

/** Describes every exceeded limit. */
export function computeViolations(found: Findings): readonly string[] {
  const limits: readonly (readonly [boolean, string])[] = [
    [found.loopBlockedMs < loopLimitMs, `the kubelet blocked its event loop for ${found.loopBlockedMs} ms`],
    [found.rssGrowthMib <= rssLimitMib, `the kubelet's memory grew by ${found.rssGrowthMib} MiB`],
    [found.leaseGapMs < leaseSeconds * 1000, `the lease was not renewed for ${found.leaseGapMs} ms`],
  ];
  const passed = limits.filter(([kept]) => !kept).map(([, text]) => text);
  const more = found.faults.length - shownFaults;
  return [...passed, ...found.faults.slice(0, shownFaults), ...(more > 0 ? [`and ${more} more`] : [])];
}
