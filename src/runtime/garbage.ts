// What of a pod's dead containers and sandboxes need not be kept. The choice is pure; the removal tolerates what is gone.
// Upstream: kuberuntime_gc.go with one dead container kept per name. Invariants: the newest container of a name is never
// removed while the pod is wanted; a sandbox is removed only after its containers.
import type { CriRuntime } from '../api/cri.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../api/observed.ts';
import { unlessGone } from './stop-container.ts';
import { rethrowFirst } from './stop-pod.ts';

export interface Garbage {
  readonly containers: readonly ObservedContainer[];
  readonly sandboxes: readonly ObservedSandbox[];
}

export interface RemoveDeps {
  readonly cri: Pick<CriRuntime, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
}

/** For a pod that is still wanted: all but the newest dead container of each name, and sandboxes left empty by a newer one. */
export function computeGarbage(seen: ObservedPod): Garbage {
  const keptDead = new Set<string>();
  const containers = seen.containers.filter((container) => {
    if (container.state !== 'exited') return false;
    if (keptDead.has(container.name)) return true;
    keptDead.add(container.name);
    return false;
  });
  const kept = seen.containers.filter((container) => !containers.includes(container));
  const sandboxes = seen.sandboxes
    .slice(1)
    .filter((sandbox) => !sandbox.ready && kept.every((container) => container.sandboxId !== sandbox.id));
  return { containers, sandboxes };
}

export function isEmpty(garbage: Garbage): boolean {
  return garbage.containers.length === 0 && garbage.sandboxes.length === 0;
}

export async function removeContainers(
  { cri }: RemoveDeps,
  containers: readonly ObservedContainer[],
  signal: AbortSignal,
): Promise<void> {
  rethrowFirst(
    await Promise.allSettled(
      containers.map(
        async ({ id }) => await unlessGone(cri.removeContainer({ containerId: id }, { signal })),
      ),
    ),
  );
}

export async function removeSandboxes(
  { cri }: RemoveDeps,
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
