// Finds out whether the runtime handler of a pod supports recursive read-only mounts.
// Upstream: runtimeClassSupportsRecursiveReadOnlyMounts in pkg/kubelet/kubelet_pods.go.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { lookUpRuntimeHandler } from '../../api/pod/runtime-handler.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import { isAbort } from '../../base/errors.ts';

export interface RecursiveReadOnlyDeps {
  readonly cri: Pick<CriRuntime, 'status'>;
  readonly objects: Pick<PodObjects, 'runtimeClass'>;
}

/** Queries the runtime for each mount that requests the mode, since the runtime may have been replaced. */
export async function supportsRecursiveReadOnly(
  { cri, objects }: RecursiveReadOnlyDeps,
  pod: Pod,
  signal: AbortSignal,
): Promise<boolean> {
  const handler = await lookUpRuntimeHandler(objects, pod, signal).catch(noHandler);
  if (handler === undefined) return false;
  const { runtimeHandlers } = await cri.status({});
  return runtimeHandlers.some(
    ({ name, features }) => name === handler && features?.recursiveReadOnlyMounts === true,
  );
}

/** As upstream, a RuntimeClass that cannot be looked up means no support. */
function noHandler(err: unknown): undefined {
  if (isAbort(err)) throw err;
}
