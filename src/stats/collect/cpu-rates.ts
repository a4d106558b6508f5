// Computes current CPU usage in nanocores from cumulative CPU time, between two samples.
// Invariant: keys that were not observed in a round are dropped at its end, so that memory is bounded by what runs.
// Upstream: cpuUsageCache in pkg/kubelet/stats/cri_stats_provider.go and cadvisor's instantaneous CPU.

interface Sample {
  readonly atMs: number;
  readonly cpuNs: number;
  readonly nanoCores: number | undefined;
}

const nsPerMs = 1e6;
/** Below this interval rounding dominates, and the last rate is kept. */
const minIntervalMs = 500;

export class CpuRates {
  #last = new Map<string, Sample>();
  #round = new Map<string, Sample>();

  /**
   * `atMs` by the monotonic clock; `ageMs` since the start, undefined if unknown: then the first sample gives no rate.
   * differs from upstream: the first sample gives the average since the start; upstream reports nothing or 0.
   */
  observe(
    key: string,
    sample: { readonly cpuNs: number; readonly atMs: number; readonly ageMs: number | undefined },
  ): number | undefined {
    const before = this.#last.get(key);
    const { ageMs, atMs, cpuNs } = sample;
    const usable = before !== undefined && cpuNs >= before.cpuNs;
    if (usable && atMs - before.atMs < minIntervalMs) {
      this.#round.set(key, before);
      return before.nanoCores;
    }
    const usedNs = usable ? cpuNs - before.cpuNs : cpuNs;
    const passedMs = usable ? atMs - before.atMs : ageMs;
    const nanoCores = passedMs === undefined ? undefined : rateOf(usedNs, passedMs);
    this.#round.set(key, { atMs, cpuNs, nanoCores });
    return nanoCores;
  }

  endRound(): void {
    this.#last = this.#round;
    this.#round = new Map();
  }
}

function rateOf(usedNs: number, passedMs: number): number {
  return passedMs <= 0 ? 0 : Math.trunc((usedNs / (passedMs * nsPerMs)) * 1e9);
}
