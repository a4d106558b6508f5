// CPU and memory of the node and its pods, from one reading of the kernel's counters to the next. Invariants: one reading at a
// time; it yields, so that hundreds of pods do not block the event loop; after a counter was reset, one sample has no CPU.
import type { Usage, UsageSample } from '../../api/ports/node-page.ts';
import type { Clock } from '../../base/clock.ts';
import { Slices } from '../../base/slices.ts';

interface Load {
  readonly cpuNs: number | undefined;
  readonly workingSetBytes: number | undefined;
}

export interface UsageSource {
  /** The cgroups of pods by pod UID. */
  pods(): ReadonlyMap<string, string>;
  /** Undefined if there is no such cgroup. */
  load(path: string): Load | undefined;
}

interface UsageSamplerDeps {
  /** Undefined on a machine without cgroups. */
  readonly source: UsageSource | undefined;
  /** The UIDs of pods with a running container. */
  readonly running: () => Iterable<string>;
  readonly observe: (seconds: number) => void;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Resolves after other pending work has run. */
  readonly pause: () => Promise<void>;
}

interface Reading {
  readonly cpuNs: number;
  readonly atMs: number;
}

const sliceMs = 1;
const root = '/';
const notMeasured: Usage = [null, null];

export class UsageSampler {
  readonly #deps: UsageSamplerDeps;
  #readings = new Map<string, Reading>();

  constructor(deps: UsageSamplerDeps) {
    this.#deps = deps;
  }

  /** The first sample has no CPU, since a counter needs two readings. */
  async sample(): Promise<UsageSample> {
    const { clock, observe, pause, running, source } = this.#deps;
    const beganMs = clock.monotonic();
    let pausedMs = 0;
    const slices = new Slices({
      clock,
      sliceMs,
      pause: async () => {
        const sinceMs = clock.monotonic();
        await pause();
        pausedMs += clock.monotonic() - sinceMs;
      },
    });
    const readings = new Map<string, Reading>();
    const atMs = clock.now();
    const node = this.#usage(root, readings);
    const pods: Record<string, Usage> = {};
    for (const uid of running()) pods[uid] = notMeasured;
    for (const [uid, path] of source?.pods() ?? []) {
      await slices.yieldIfDue();
      pods[uid] = this.#usage(path, readings);
    }
    this.#readings = readings;
    observe((clock.monotonic() - beganMs - pausedMs) / 1000);
    return { atMs, node, pods };
  }

  #usage(path: string, readings: Map<string, Reading>): Usage {
    const load = this.#deps.source?.load(path);
    if (load === undefined) return notMeasured;
    const { cpuNs, workingSetBytes } = load;
    const atMs = this.#deps.clock.monotonic();
    const before = this.#readings.get(path);
    if (cpuNs !== undefined) readings.set(path, { cpuNs, atMs });
    const memory = workingSetBytes ?? null;
    if (cpuNs === undefined || before === undefined || cpuNs < before.cpuNs || atMs <= before.atMs)
      return [null, memory];
    // Nanoseconds per millisecond are millionths of a core.
    return [Math.round((cpuNs - before.cpuNs) / (atMs - before.atMs) / 1000), memory];
  }
}
