// Collects the disk usage of pods: container logs, volumes and hosts file. Stateless; does not query the runtime.
// Invariants: a slow directory walk is abandoned at the deadline; what cannot be measured is omitted.
// Upstream: pkg/kubelet/stats/host_stats_provider.go and makePodStorageStats.

import type { ObservedPod } from '../../api/pod/observed.ts';
import type { FilesUsage } from '../../api/ports/host-usage.ts';
import type { FileSystemSpace } from '../../api/ports/volume-host.ts';
import type { VolumeStatsSource, VolumeUsage } from '../../api/ports/volume-stats.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { PickedPod } from '../pick-pods.ts';

interface DiskHost {
  filesIn(directory: string): Promise<FilesUsage | undefined>;
  file(path: string): Promise<FilesUsage | undefined>;
  space(path: string): Promise<FileSystemSpace>;
}

export interface PodDisk {
  readonly pod: Pick<ObservedPod, 'uid' | 'namespace' | 'name'>;
  readonly volumes: readonly VolumeUsage[];
  /** By container name; containers without a log directory are omitted. */
  readonly logs: ReadonlyMap<string, FilesUsage>;
  /** Files in the pod's log directory, and its hosts file. */
  readonly others: readonly FilesUsage[];
}

export interface CollectedDisk {
  readonly atMs: number;
  readonly pods: ReadonlyMap<string, PodDisk>;
  /** The file system of the kubelet's root directory. */
  readonly nodeFs: FileSystemSpace | undefined;
  readonly faults: readonly string[];
}

export interface CollectDiskDeps {
  readonly host: DiskHost;
  readonly volumes: VolumeStatsSource;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly clock: Clock;
}

/** Bounds a hung file system, and volumes with very many files. */
const deadlineMs = 3_000;
/** Pods measured in parallel; each needs a few thread pool calls. */
const parallel = 8;

export class CollectDisk {
  readonly #deps: CollectDiskDeps;

  constructor(deps: CollectDiskDeps) {
    this.#deps = deps;
  }

  async collect(pods: readonly PickedPod[], signal: AbortSignal): Promise<CollectedDisk> {
    const { clock, host, rootDir } = this.#deps;
    const faults: string[] = [];
    const found = new Map<string, PodDisk>();
    const orFault = async <T>(
      what: string,
      work: (signal: AbortSignal) => Promise<T>,
    ): Promise<T | undefined> => {
      try {
        return await withDeadline({ clock, ms: deadlineMs, signal, what }, work);
      } catch (err) {
        faults.push(`${what}: ${describeError(err)}`);
        return undefined;
      }
    };
    const nodeFs = await orFault('file system of the kubelet', () => host.space(rootDir));
    const waiting = pods.toReversed();
    await orFault('disk of pods', async (inner) => {
      const work = async (): Promise<void> => {
        for (let next = waiting.pop(); next !== undefined && !inner.aborted; next = waiting.pop())
          found.set(next.pod.uid, await this.#pod(next, inner, faults));
      };
      await Promise.all(Array.from({ length: parallel }, work));
    });
    return { atMs: clock.now(), pods: found, nodeFs, faults };
  }

  async #pod({ containers, pod }: PickedPod, signal: AbortSignal, faults: string[]): Promise<PodDisk> {
    const { host, podLogsDir, rootDir, volumes } = this.#deps;
    const orElse =
      <T>(fallback: T) =>
      (err: unknown): T => {
        if (!signal.aborted) faults.push(`pod ${pod.namespace}/${pod.name}: ${describeError(err)}`);
        return fallback;
      };
    const directory = `${podLogsDir}/${pod.namespace}_${pod.name}_${pod.uid}`;
    const measured = volumes.ofPod(pod.uid, signal).catch(orElse<readonly VolumeUsage[]>([]));
    const logs = new Map<string, FilesUsage>();
    for (const { name } of containers) {
      const files = await host.filesIn(`${directory}/${name}`).catch(orElse(undefined));
      if (files !== undefined) logs.set(name, files);
    }
    const own = await host.filesIn(directory).catch(orElse(undefined));
    const hosts = await host.file(`${rootDir}/pods/${pod.uid}/etc-hosts`).catch(orElse(undefined));
    return { pod, volumes: await measured, logs, others: [own, hosts].filter((each) => each !== undefined) };
  }
}
