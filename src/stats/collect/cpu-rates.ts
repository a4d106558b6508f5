// How many cores something uses now, from what it has used in all: needs two looks. Upstream: cpuUsageCache in
// pkg/kubelet/stats/cri_stats_provider.go and cadvisor's instantaneous CPU.
// Invariant: what was not looked at in a round is forgotten at its end, so that memory is bounded by what runs.

interface Look {
  readonly atMs: number;
  readonly cpuNs: number;
  readonly nanoCores: number | undefined;
}

const nsPerMs = 1e6;
/** Closer looks say more about rounding than about use: the last figure stays. */
const shortestMs = 500;

export class CpuRates {
  #last = new Map<string, Look>();
  #round = new Map<string, Look>();

  /**
   * `atMs` by the monotonic clock, `ageMs` since it began; undefined: not known, so that one look tells no rate.
   * differs from upstream: the first look tells the average since the beginning, where there it is nothing or 0.
   */
  observe(
    key: string,
    look: { readonly cpuNs: number; readonly atMs: number; readonly ageMs: number | undefined },
  ): number | undefined {
    const before = this.#last.get(key);
    const { ageMs, atMs, cpuNs } = look;
    const usable = before !== undefined && cpuNs >= before.cpuNs;
    if (usable && atMs - before.atMs < shortestMs) {
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
