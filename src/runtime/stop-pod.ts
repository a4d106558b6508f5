// Ends containers and sandboxes. Upstream: kuberuntime_container.go killContainer, kuberuntime_manager.go killPodWithSyncResult.
// Invariants: containers of a pod end side by side, the sandbox only after them; what is already gone counts as ended.
import type { CriRuntime } from '../api/cri.ts';
import type { Pod } from '../api/k8s.ts';
import type { ObservedContainer, ObservedPod } from '../api/observed.ts';
import { podRef } from '../api/pod-ref.ts';
import { isKind } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';

export interface StopDeps {
  readonly cri: Pick<CriRuntime, 'stopContainer' | 'stopPodSandbox'>;
  readonly log: Logger;
}

export interface StopOptions {
  readonly pod: Pod | undefined;
  /** Wins over what pod and containers say. */
  readonly graceSeconds: number | undefined;
  readonly why: string;
  readonly signal: AbortSignal;
}

/** Always enough to see SIGTERM before SIGKILL. */
const minimumGraceSeconds = 2;

export function computeGraceSeconds(
  container: ObservedContainer,
  options: Pick<StopOptions, 'pod' | 'graceSeconds'>,
): number {
  const { pod } = options;
  const asked =
    options.graceSeconds ??
    pod?.metadata?.deletionGracePeriodSeconds ??
    pod?.spec?.terminationGracePeriodSeconds ??
    container.deletionGraceSeconds ??
    container.terminationGraceSeconds ??
    minimumGraceSeconds;
  return Math.max(asked, minimumGraceSeconds);
}

/** Resolves when all have ended; rejects with the first failure once every one was tried. */
export async function stopContainers(
  deps: StopDeps,
  containers: readonly ObservedContainer[],
  options: StopOptions,
): Promise<void> {
  const outcomes = await Promise.allSettled(
    containers.map(async (container) => {
      const timeout = computeGraceSeconds(container, options);
      deps.log.info('Stopping container', {
        ...(options.pod === undefined ? {} : { pod: podRef(options.pod) }),
        container: container.name,
        containerID: container.id,
        graceSeconds: timeout,
        why: options.why,
      });
      await unlessGone(
        deps.cri.stopContainer({ containerId: container.id, timeout }, { signal: options.signal }),
      );
    }),
  );
  rethrowFirst(outcomes);
}

export async function stopSandboxes(deps: StopDeps, seen: ObservedPod, signal: AbortSignal): Promise<void> {
  const outcomes = await Promise.allSettled(
    seen.sandboxes.map(
      async ({ id }) => await unlessGone(deps.cri.stopPodSandbox({ podSandboxId: id }, { signal })),
    ),
  );
  rethrowFirst(outcomes);
}

export async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (err) {
    if (!isKind(err, 'not-found')) throw err;
  }
}

export function rethrowFirst(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as Error;
}
