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

export interface PodFilesHost {
  filesIn(directory: string): Promise<FilesUsage | undefined>;
  file(path: string): Promise<FilesUsage | undefined>;
}

interface DiskHost extends PodFilesHost {
  space(path: string): Promise<FileSystemSpace>;
}

export interface PodFiles {
  /** By container name; containers without a log directory are omitted. */
  readonly logs: ReadonlyMap<string, FilesUsage>;
  /** Files in the pod's log directory, and its hosts file. */
  readonly others: readonly FilesUsage[];
}

export interface PodDisk extends PodFiles {
  readonly pod: Pick<ObservedPod, 'uid' | 'namespace' | 'name'>;
  readonly volumes: readonly VolumeUsage[];
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
  readonly volumes: Pick<VolumeStatsSource, 'ofPod'>;
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

  async #pod(picked: PickedPod, signal: AbortSignal, faults: string[]): Promise<PodDisk> {
    const { pod } = picked;
    const onError = (err: unknown): void => {
      if (!signal.aborted) faults.push(`pod ${pod.namespace}/${pod.name}: ${describeError(err)}`);
    };
    const measured = this.#deps.volumes
      .ofPod(pod.uid, signal)
      .catch((err: unknown): readonly VolumeUsage[] => {
        onError(err);
        return [];
      });
    const files = await readPodFiles(this.#deps, picked, onError);
    return { pod, volumes: await measured, ...files };
  }
}

/** The logs of a pod's containers, the other files of its log directory, and its hosts file. What fails is omitted. */
export async function readPodFiles(
  deps: Pick<CollectDiskDeps, 'rootDir' | 'podLogsDir'> & { readonly host: PodFilesHost },
  { containers, pod }: PickedPod,
  onError: (err: unknown) => void,
): Promise<PodFiles> {
  const { host, podLogsDir, rootDir } = deps;
  const orNone = (call: Promise<FilesUsage | undefined>): Promise<FilesUsage | undefined> =>
    call.catch((err: unknown) => {
      onError(err);
      return undefined;
    });
  const directory = `${podLogsDir}/${pod.namespace}_${pod.name}_${pod.uid}`;
  const logs = new Map<string, FilesUsage>();
  for (const { name } of containers) {
    const files = await orNone(host.filesIn(`${directory}/${name}`));
    if (files !== undefined) logs.set(name, files);
  }
  const own = await orNone(host.filesIn(directory));
  const hosts = await orNone(host.file(`${rootDir}/pods/${pod.uid}/etc-hosts`));
  return { logs, others: [own, hosts].filter((each) => each !== undefined) };
}
