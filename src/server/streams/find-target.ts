// Finds the pod, container or sandbox of a stream. Lists the runtime's present state: a container that was observed a second ago
// may have been replaced since.
// Upstream: findContainer in pkg/kubelet/kubelet_pods.go, getSandboxIDByPodUID in pkg/kubelet/kuberuntime.

import { ContainerState, PodSandboxState } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';

export interface TargetPod {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly source: string;
}

export type TargetRuntime = Pick<CriRuntime, 'listContainers' | 'listPodSandbox'>;

/** The newest pod of that name: an older one may still be terminating. */
export function findPod(
  pods: readonly TargetPod[],
  namespace: string | undefined,
  name: string | undefined,
): TargetPod | undefined {
  return pods.findLast(
    ({ pod: { metadata } }) => metadata?.name === name && metadata?.namespace === namespace,
  );
}

/** Whether the UID in a path matches this pod. Clients know static pods by the UID of their mirror pod. */
export function matchesUid({ source, uid }: TargetPod, expected: string | undefined): boolean {
  return expected === undefined || expected === uid || source !== 'api';
}

/** The ID of the pod's running container of that name. */
export async function runningContainer(
  runtime: TargetRuntime,
  { uid }: TargetPod,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const filter = {
    state: { state: ContainerState.CONTAINER_RUNNING },
    labelSelector: { [criLabels.podUid]: uid },
  };
  const { containers } = await runtime.listContainers({ filter }, { signal });
  const found = containers.filter(({ metadata }) => metadata?.name === name);
  return found.toSorted((a, b) => Number(b.createdAt - a.createdAt))[0]?.id;
}

/** The ID of the pod's newest ready sandbox. */
export async function readySandbox(
  runtime: TargetRuntime,
  { uid }: TargetPod,
  signal: AbortSignal,
): Promise<string | undefined> {
  const filter = {
    state: { state: PodSandboxState.SANDBOX_READY },
    labelSelector: { [criLabels.podUid]: uid },
  };
  const { items } = await runtime.listPodSandbox({ filter }, { signal });
  return items.toSorted((a, b) => Number(b.createdAt - a.createdAt))[0]?.id;
}
