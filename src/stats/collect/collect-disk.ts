// Collects the disk usage of pods: container logs, volumes and hosts file. Stateless; does not query the runtime.
// Invariants: a slow directory walk is abandoned at the deadline; what cannot be measured is omitted; volumes that do not respond
// keep nothing else from being measured.
// Upstream: pkg/kubelet/stats/host_stats_provider.go and makePodStorageStats.
import { setMaxListeners } from 'node:events';
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
/** Pods whose files are measured in parallel; each needs a few thread pool calls. The source of volumes has its own limits. */
const parallel = 8;

export class CollectDisk {
  readonly #deps: CollectDiskDeps;

  constructor(deps: CollectDiskDeps) {
    this.#deps = deps;
  }

  async collect(pods: readonly PickedPod[], signal: AbortSignal): Promise<CollectedDisk> {
    const { clock, host, rootDir } = this.#deps;
    const faults: string[] = [];
    const files = new Map<string, PodFiles>();
    const volumes = new Map<string, readonly VolumeUsage[]>();
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
      // Each pod adds a listener.
      setMaxListeners(0, inner);
      const onError = ({ pod }: PickedPod, err: unknown): void => {
        if (!inner.aborted) faults.push(`pod ${pod.namespace}/${pod.name}: ${describeError(err)}`);
      };
      const measure = async (picked: PickedPod): Promise<void> => {
        const { uid } = picked.pod;
        await this.#deps.volumes.ofPod(uid, inner).then(
          (measured) => void volumes.set(uid, measured),
          (err: unknown) => onError(picked, err),
        );
      };
      const readFiles = async (): Promise<void> => {
        for (let next = waiting.pop(); next !== undefined && !inner.aborted; next = waiting.pop()) {
          const picked = next;
          files.set(picked.pod.uid, await readPodFiles(this.#deps, picked, (err) => onError(picked, err)));
        }
      };
      await Promise.all([...pods.map(measure), ...Array.from({ length: parallel }, readFiles)]);
    });
    const found = new Map<string, PodDisk>();
    for (const { pod } of pods) {
      const own = files.get(pod.uid);
      if (own !== undefined) found.set(pod.uid, { pod, volumes: volumes.get(pod.uid) ?? [], ...own });
    }
    return { atMs: clock.now(), pods: found, nodeFs, faults };
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
