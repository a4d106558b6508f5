// The runtime handler that runs a pod. Upstream: LookupRuntimeHandler in pkg/kubelet/runtimeclass.
import type { Pod } from '../k8s/types.ts';
import type { PodObjects } from '../ports/pod-objects.ts';

/** The handler of the pod's RuntimeClass, which may be named differently; empty: the runtime's default handler. */
export async function lookUpRuntimeHandler(
  objects: Pick<PodObjects, 'runtimeClass'>,
  pod: Pod,
  signal: AbortSignal,
): Promise<string> {
  const runtimeClassName = pod.spec?.runtimeClassName ?? '';
  return runtimeClassName === '' ? '' : (await objects.runtimeClass(runtimeClassName, signal)).handler;
}
