// Removes dead containers, their logs and sandboxes, and tolerates what no longer exists. compute-garbage.ts chooses them.
// Upstream: kuberuntime_gc.go and removeContainerLog in kuberuntime_container.go.
// Invariant: a sandbox is removed only after its containers.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import {
  neverRan,
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
  startWasInterrupted,
} from '../../api/pod/observed.ts';
import { isRefusal, type RefusedRemovals } from './refused-removals.ts';
import { unlessGone } from './stop-container.ts';
import { rethrowFirst } from './stop-pod.ts';

interface RemoveDeps {
  readonly cri: Pick<CriRuntime, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly records: { readonly refusedRemovals: RefusedRemovals };
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

/** A runtime removes a sandbox only together with its containers. */
export function withoutContainers(
  sandboxes: readonly ObservedSandbox[],
  kept: readonly ObservedContainer[],
): readonly ObservedSandbox[] {
  return sandboxes.filter(({ id }) => kept.every(({ sandboxId }) => sandboxId !== id));
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
  /** Undefined if logs are not rotated. */
  readonly logRotation?: { release(path: string): Promise<void> } | undefined;
}

/** Removes the logs of containers that are about to be removed, including rotated ones: no runtime does that. */
export async function removeLogs(
  { files, logRotation, settings: { podLogsDir } }: LogNode,
  containers: readonly Pick<ObservedContainer, 'logPath'>[],
): Promise<void> {
  for (const { logPath } of containers) {
    const at = logPath.lastIndexOf('/');
    const [directory, name] = [logPath.slice(0, at), logPath.slice(at + 1)];
    // The runtime may return paths of other clients: only those in the kubelet's directory are removed.
    if (!directory.startsWith(`${podLogsDir}/`) || name === '' || directory.includes('/../')) continue;
    // A file that is being compressed must not get its name after the list.
    await logRotation?.release(logPath);
    const own = (await files.listNames(directory)).filter(
      (each) => each === name || each.startsWith(`${name}.`),
    );
    for (const each of own) await files.removeFile(`${directory}/${each}`, podLogsDir);
  }
}
