// Measures local ephemeral storage of pods: writable layers from the runtime, log files, hosts file and volumes.
// Invariants: all parts together end at one deadline; a hung file system of logs occupies few threads of the pool, and is not
// accessed again before it has responded; a pod with slow volumes delays no other.
// Upstream: pkg/kubelet/stats/cri_stats_provider.go and host_stats_provider.go.
import type { ContainerStats } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { VolumeStatsSource, VolumeUsage } from '../../api/ports/volume-stats.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import { type PodFiles, type PodFilesHost, readPodFiles } from '../collect/collect-disk.ts';
import type { PickedPod } from '../pick-pods.ts';

export interface PodDiskDeps {
  readonly host: PodFilesHost;
  readonly runtime: Pick<CriRuntime, 'listContainerStats'>;
  readonly volumes: Pick<VolumeStatsSource, 'localOfPod'>;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly clock: Clock;
}

export interface MeasuredDisk {
  /** By pod UID; a pod whose files were not read in time is missing. */
  readonly files: ReadonlyMap<string, PodFiles>;
  readonly volumes: ReadonlyMap<string, readonly VolumeUsage[]>;
}

const deadlineMs = 2_500;
/** Fewer than the threads of Node's pool, in case the file system hangs. */
const parallelFiles = 2;
const parallelCalls = 4;

export class PodDisks {
  readonly #deps: PodDiskDeps;
  /** Readers that have not returned since their deadline. */
  #stuck = 0;

  constructor(deps: PodDiskDeps) {
    this.#deps = deps;
  }

  async measure(pods: readonly PickedPod[], signal: AbortSignal, faults: string[]): Promise<MeasuredDisk> {
    const local = new Map(pods.map(({ pod }) => [pod.uid, this.#deps.volumes.localOfPod(pod.uid)]));
    const fresh = Promise.all([...local.values()].map((volumes) => volumes.fresh));
    const [files] = await Promise.all([
      this.#files(pods, signal, faults),
      this.#within('volumes of pods', signal, faults, () => fresh),
    ]);
    const volumes = new Map([...local].map(([uid, each]) => [uid, each.latest()]));
    return { files, volumes };
  }

  /** Statistics of containers by ID. A runtime computes them for each container, so few pods are requested one by one. */
  async containers(
    pods: readonly PickedPod[],
    areAll: boolean,
    { faults, signal }: { readonly faults: string[]; readonly signal: AbortSignal },
  ): Promise<ReadonlyMap<string, ContainerStats>> {
    const requests: Parameters<CriRuntime['listContainerStats']>[0][] = areAll
      ? [{}]
      : pods.map(({ sandbox }) => ({ filter: { id: '', podSandboxId: sandbox.id, labelSelector: {} } }));
    const found = new Map<string, ContainerStats>();
    await this.#within('container stats', signal, faults, (inner) =>
      inTurn(requests, parallelCalls, inner, async (request) => {
        const { stats } = await this.#deps.runtime.listContainerStats(request, { signal: inner });
        for (const each of stats) found.set(each.attributes?.id ?? '', each);
      }),
    );
    return found;
  }

  async #files(
    pods: readonly PickedPod[],
    signal: AbortSignal,
    faults: string[],
  ): Promise<ReadonlyMap<string, PodFiles>> {
    const found = new Map<string, PodFiles>();
    if (this.#stuck > 0) {
      faults.push('logs of pods: the file system has not responded since an earlier measurement');
      return found;
    }
    let inFlight = 0;
    let isOver = false;
    await this.#within('logs of pods', signal, faults, (inner) =>
      inTurn(pods, parallelFiles, inner, async (picked) => {
        inFlight++;
        const onError = (err: unknown): void =>
          void faults.push(`pod ${picked.pod.namespace}/${picked.pod.name}: ${describeError(err)}`);
        const files = await readPodFiles(this.#deps, picked, onError);
        inFlight--;
        if (isOver) this.#stuck--;
        else found.set(picked.pod.uid, files);
      }),
    );
    isOver = true;
    this.#stuck += inFlight;
    return found;
  }

  async #within(
    what: string,
    signal: AbortSignal,
    faults: string[],
    work: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    try {
      await withDeadline({ clock: this.#deps.clock, ms: deadlineMs, signal, what }, work);
    } catch (err) {
      faults.push(`${what}: ${describeError(err)}`);
    }
  }
}

/** Runs the work on all items, a few at a time, until the signal aborts. */
async function inTurn<T>(
  items: readonly T[],
  parallel: number,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.toReversed();
  const run = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined && !signal.aborted; next = waiting.pop())
      await work(next);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, run));
}
