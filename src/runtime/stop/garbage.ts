// Garbage collection of a pod's dead containers and sandboxes. The choice is pure; the removal tolerates what no longer exists.
// Upstream: kuberuntime_gc.go and removeContainerLog in kuberuntime_container.go. Invariants: the newest container of a name is
// never removed while the pod is desired; a sandbox is removed only after its containers.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import {
  latestContainer,
  neverRan,
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
  startWasInterrupted,
} from '../../api/pod/observed.ts';
import { isRefusal, type RefusedRemovals } from './refused-removals.ts';
import { unlessGone } from './stop-container.ts';
import { rethrowFirst } from './stop-pod.ts';

interface Garbage {
  readonly containers: readonly ObservedContainer[];
  readonly sandboxes: readonly ObservedSandbox[];
}

interface RemoveDeps {
  readonly cri: Pick<CriRuntime, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly records: { readonly refusedRemovals: RefusedRemovals };
}

/** Upstream: GCPolicy, from deprecated flags that still apply. */
export interface GarbagePolicy {
  /** Dead containers kept per container name; negative: all. */
  readonly perContainer: number;
  /** A container younger than this is kept. */
  readonly minAgeMs: number;
  /** Dead containers kept on the whole node beside the newest of each name; negative: all. */
  readonly total: number;
}

interface GarbageFlags {
  readonly maximumDeadContainers: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly minimumContainerTTLDuration: { readonly ms: number };
}

export function garbagePolicy(flags: GarbageFlags): GarbagePolicy {
  return {
    perContainer: flags.maximumDeadContainersPerContainer,
    minAgeMs: flags.minimumContainerTTLDuration.ms,
    total: flags.maximumDeadContainers,
  };
}

const defaultGarbagePolicy: GarbagePolicy = { perContainer: 1, minAgeMs: 0, total: -1 };

/** For a desired pod: the dead containers beyond the policy, and the empty sandboxes that a newer one has replaced. */
export function computeGarbage(
  seen: ObservedPod,
  policy: GarbagePolicy = defaultGarbagePolicy,
  nowMs = Number.POSITIVE_INFINITY,
  node: Iterable<ObservedPod> = [seen],
  isKept: (id: string) => boolean = () => false,
): Garbage {
  const beyond = beyondTotal(node, policy, nowMs);
  const { minAgeMs, perContainer } = policy;
  const dead = new Map<string, number>();
  const containers = seen.containers.filter((container) => {
    if (container.state !== 'exited' || isKept(container.id)) return false;
    const before = dead.get(container.name) ?? 0;
    dead.set(container.name, before + 1);
    if (container === latestContainer(seen, container.name)) return false;
    if (beyond.has(container)) return true;
    return perContainer >= 0 && before >= perContainer && nowMs - container.createdAtMs >= minAgeMs;
  });
  const kept = seen.containers.filter((container) => !containers.includes(container));
  const sandboxes = seen.sandboxes
    .slice(1)
    .filter((sandbox) => !sandbox.ready && kept.every((container) => container.sandboxId !== sandbox.id));
  return { containers, sandboxes };
}

// differs from upstream: there even the newest dead container of a name may be removed, and its exit status is lost.
/** The oldest dead and replaced containers of the node beyond `total`. */
function beyondTotal(
  node: Iterable<ObservedPod>,
  { minAgeMs, total }: GarbagePolicy,
  nowMs: number,
): ReadonlySet<ObservedContainer> {
  if (total < 0) return new Set();
  const replaced = [...node].flatMap((pod) =>
    pod.containers.filter(
      (each) =>
        each.state === 'exited' &&
        each !== latestContainer(pod, each.name) &&
        nowMs - each.createdAtMs >= minAgeMs,
    ),
  );
  return new Set(replaced.toSorted((a, b) => b.createdAtMs - a.createdAtMs).slice(total));
}

export function isEmpty(garbage: Garbage): boolean {
  return garbage.containers.length === 0 && garbage.sandboxes.length === 0;
}

/**
 * Resolves to the containers that the runtime refuses to remove, which happens only after an interrupted start. Rejects with the
 * first other failure after all removals were attempted.
 */
export async function removeContainers(
  { cri, records: { refusedRemovals } }: RemoveDeps,
  containers: readonly ObservedContainer[],
  signal: AbortSignal,
): Promise<readonly ObservedContainer[]> {
  const remove = async (container: ObservedContainer): Promise<boolean> => {
    const { id } = container;
    if (refusedRemovals.isBackingOff(id)) return false;
    try {
      await unlessGone(cri.removeContainer({ containerId: id }, { signal }));
      refusedRemovals.forget(id);
      return true;
    } catch (err) {
      if (!startWasInterrupted(container) || !isRefusal(err)) throw err;
      refusedRemovals.record(id, err);
      return false;
    }
  };
  const outcomes = await Promise.allSettled(containers.map(remove));
  rethrowFirst(outcomes);
  return containers.filter((_, i) => {
    const outcome = outcomes[i];
    return outcome?.status === 'fulfilled' && !outcome.value;
  });
}

export async function removeSandboxes(
  { cri }: Pick<RemoveDeps, 'cri'>,
  sandboxes: readonly ObservedSandbox[],
  signal: AbortSignal,
): Promise<void> {
  rethrowFirst(
    await Promise.allSettled(
      sandboxes.map(async ({ id }) => {
        // Stopping again is harmless and ensures that the network was torn down.
        await unlessGone(cri.stopPodSandbox({ podSandboxId: id }, { signal }));
        await unlessGone(cri.removePodSandbox({ podSandboxId: id }, { signal }));
      }),
    ),
  );
}

/** The containers whose log no other container uses: one that never ran shares its log with its replacement. */
export function withUnsharedLogs(
  seen: ObservedPod,
  containers: readonly ObservedContainer[],
): readonly ObservedContainer[] {
  const others = seen.containers.filter((each) => !containers.includes(each));
  const used = new Set(others.map(({ logPath }) => logPath));
  return containers.filter(({ logPath }) => !used.has(logPath));
}

/**
 * Removes the logs of the containers that never ran. A start creates the log file even if it fails, and after the container is
 * removed its log would count as a restart.
 */
export async function removeLogsOfNeverRan(
  node: LogNode,
  seen: ObservedPod,
  containers: readonly ObservedContainer[],
): Promise<void> {
  await removeLogs(node, withUnsharedLogs(seen, containers.filter(neverRan)));
}

interface LogNode {
  readonly files: {
    listNames(path: string): Promise<readonly string[]>;
    removeFile(path: string, below: string): Promise<void>;
  };
  readonly settings: { readonly podLogsDir: string };
}

/** Removes the logs of containers that are about to be removed, including rotated ones: no runtime does that. */
export async function removeLogs(
  { files, settings: { podLogsDir } }: LogNode,
  containers: readonly Pick<ObservedContainer, 'logPath'>[],
): Promise<void> {
  for (const { logPath } of containers) {
    const at = logPath.lastIndexOf('/');
    const [directory, name] = [logPath.slice(0, at), logPath.slice(at + 1)];
    // The runtime may return paths of other clients: only those in the kubelet's directory are removed.
    if (!directory.startsWith(`${podLogsDir}/`) || name === '' || directory.includes('/../')) continue;
    const own = (await files.listNames(directory)).filter(
      (each) => each === name || each.startsWith(`${name}.`),
    );
    for (const each of own) await files.removeFile(`${directory}/${each}`, podLogsDir);
  }
}
