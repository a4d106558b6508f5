// Stops the containers and sandboxes of a pod. Upstream: kuberuntime_manager.go killPodWithSyncResult.
// Invariants: a pod's containers are stopped in parallel, sidecars after the others, sandboxes last; a container or sandbox that
// no longer exists counts as stopped.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { type ObservedContainer, type ObservedPod, readySandbox } from '../../api/pod/observed.ts';
import { type StopDeps, type StopOptions, stopContainer, unlessGone } from './stop-container.ts';
import { TerminationOrder } from './termination-order.ts';

interface StopPodOptions {
  /** Undefined: the pod's own, or the one recorded on its containers. */
  readonly graceSeconds: number | undefined;
  /** The reason, for the log. */
  readonly why: string;
}

/**
 * Stops every container within its grace period, then the sandboxes. Resolves when nothing of the pod runs.
 * Without a pod (its spec is lost) the grace period recorded on the containers applies.
 */
export async function stopPod(
  deps: StopDeps,
  pod: Pod | undefined,
  seen: ObservedPod,
  { graceSeconds, why }: StopPodOptions,
  signal: AbortSignal,
): Promise<void> {
  const running = seen.containers.filter(({ state }) => state === 'running' || state === 'unknown');
  const order = new TerminationOrder(
    deps.clock,
    pod,
    running.map(({ name }) => name),
  );
  const podIp = readySandbox(seen)?.ips[0];
  await stopContainers(deps, running, { pod, graceSeconds, why, podIp, order, signal });
  await stopSandboxes(deps, seen, signal);
}

/** Resolves when all are stopped; rejects with the first failure after all were attempted. */
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
