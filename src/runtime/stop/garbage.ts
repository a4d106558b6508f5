// What of a pod's dead containers and sandboxes need not be kept. The choice is pure; the removal tolerates what is gone.
// Upstream: kuberuntime_gc.go and removeContainerLog in kuberuntime_container.go. Invariants: the newest container of a name is never
// removed while the pod is wanted; a sandbox is removed only after its containers.
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

/** Upstream: GCPolicy, from flags that are old but not gone. */
export interface GarbagePolicy {
  /** Dead containers kept of each name; negative: all of them. */
  readonly perContainer: number;
  /** Made less than this ago: kept. */
  readonly minAgeMs: number;
  /** Dead containers kept on the whole node beside the newest of each name; negative: all of them. */
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

/** For a pod that is still wanted: dead containers beyond those that are kept of each name, and sandboxes left empty by a newer one. */
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

// differs from upstream: there even the newest dead container of a name may go, and with it what is known of its end.
/** What is dead and replaced on the whole node, beyond how many may stay; the oldest go. */
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
 * Those that the runtime keeps: only a start that was cut off ends like that. Any other failure passes, and is thrown once
 * every one was tried.
 */
export async function removeContainers(
  { cri, records: { refusedRemovals } }: RemoveDeps,
  containers: readonly ObservedContainer[],
  signal: AbortSignal,
): Promise<readonly ObservedContainer[]> {
  const remove = async (container: ObservedContainer): Promise<boolean> => {
    const { id } = container;
    if (refusedRemovals.holds(id)) return false;
    try {
      await unlessGone(cri.removeContainer({ containerId: id }, { signal }));
      refusedRemovals.forget(id);
      return true;
    } catch (err) {
      if (!startWasInterrupted(container) || !isRefusal(err)) throw err;
      refusedRemovals.note(id, err);
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
        // Stopping again is harmless and makes sure that the network was given back.
        await unlessGone(cri.stopPodSandbox({ podSandboxId: id }, { signal }));
        await unlessGone(cri.removePodSandbox({ podSandboxId: id }, { signal }));
      }),
    ),
  );
}

/** Those whose log is nobody else's: one that never ran has the same as the one that took its place. */
export function withOwnLogs(
  seen: ObservedPod,
  containers: readonly ObservedContainer[],
): readonly ObservedContainer[] {
  const others = seen.containers.filter((each) => !containers.includes(each));
  const used = new Set(others.map(({ logPath }) => logPath));
  return containers.filter(({ logPath }) => !used.has(logPath));
}

/**
 * The logs of those among the containers that never ran. A start makes the log file whatever becomes of it, and once the runtime
 * has forgotten the container its log would count as a restart.
 */
export async function removeLogsOfNeverRan(
  node: LogNode,
  seen: ObservedPod,
  containers: readonly ObservedContainer[],
): Promise<void> {
  await removeLogs(node, withOwnLogs(seen, containers.filter(neverRan)));
}

interface LogNode {
  readonly files: {
    listNames(path: string): Promise<readonly string[]>;
    removeFile(path: string, below: string): Promise<void>;
  };
  readonly settings: { readonly podLogsDir: string };
}

/** The logs of containers that are about to be removed, rotated ones too: no runtime does that. */
export async function removeLogs(
  { files, settings: { podLogsDir } }: LogNode,
  containers: readonly Pick<ObservedContainer, 'logPath'>[],
): Promise<void> {
  for (const { logPath } of containers) {
    const at = logPath.lastIndexOf('/');
    const [directory, name] = [logPath.slice(0, at), logPath.slice(at + 1)];
    // The path comes back from a runtime that others use as well: only what lies in our directory is ours.
    if (!directory.startsWith(`${podLogsDir}/`) || name === '' || directory.includes('/../')) continue;
    const own = (await files.listNames(directory)).filter(
      (each) => each === name || each.startsWith(`${name}.`),
    );
    for (const each of own) await files.removeFile(`${directory}/${each}`, podLogsDir);
  }
}
