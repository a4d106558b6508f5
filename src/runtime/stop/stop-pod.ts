// Ends containers and sandboxes of a pod. Upstream: kuberuntime_manager.go killPodWithSyncResult.
// Invariants: containers of a pod end side by side, sidecars after the others, the sandbox only after them; what is already
// gone counts as ended.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import { type StopDeps, type StopOptions, stopContainer, unlessGone } from './stop-container.ts';

/** Resolves when all have ended; rejects with the first failure once every one was tried. */
export async function stopContainers(
  deps: StopDeps,
  containers: readonly ObservedContainer[],
  options: StopOptions,
): Promise<void> {
  rethrowFirst(
    await Promise.allSettled(
      containers.map(async (container) => await stopContainer(deps, container, options)),
    ),
  );
}

export async function stopSandboxes(
  deps: { readonly cri: Pick<CriRuntime, 'stopPodSandbox'> },
  seen: ObservedPod,
  signal: AbortSignal,
): Promise<void> {
  const outcomes = await Promise.allSettled(
    seen.sandboxes.map(
      async ({ id }) => await unlessGone(deps.cri.stopPodSandbox({ podSandboxId: id }, { signal })),
    ),
  );
  rethrowFirst(outcomes);
}

export function rethrowFirst(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as Error;
}
