// Which pod, container or sandbox a stream is for. The runtime is asked for what runs at this moment: what a loop saw a second
// ago may have ended, and its successor is the one that is meant.
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

/** Of several with one name, which is so while an old one ends, the one that came last. */
export function findPod(
  pods: readonly TargetPod[],
  namespace: string | undefined,
  name: string | undefined,
): TargetPod | undefined {
  return pods.findLast(
    ({ pod: { metadata } }) => metadata?.name === name && metadata?.namespace === namespace,
  );
}

/** Whether a path that names a UID means this pod. Of a static pod clients know the mirror pod's. */
export function matchesUid({ source, uid }: TargetPod, wanted: string | undefined): boolean {
  return wanted === undefined || wanted === uid || source !== 'api';
}

/** The id of the pod's container of that name, if it runs. */
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

/** The id of the pod's newest sandbox that is ready. */
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
