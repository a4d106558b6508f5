// The volumes of a pod as runtime and workers use them. Types only; volumes/ implements it.
// Upstream: pkg/kubelet/volumemanager (WaitForAttachAndMount, WaitForUnmount) and makeMounts in kubelet_pods.go.

import type { Device, Mount } from '../cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../cri/runtime.ts';
import type { Container, Pod } from '../k8s/types.ts';
import type { PodUid } from './pod-ref.ts';

export interface ContainerMounts {
  readonly mounts: readonly CriRequest<Mount>[];
  readonly devices: readonly CriRequest<Device>[];
}

export interface PodVolumes {
  /**
   * Resolves when every volume that the pod's containers use is mounted; cheap if they are already. Rejects with a
   * KubeletError that names the volume and the reason. volumes/ emits the FailedMount events.
   */
  mount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The mounts of one container, with sub-paths resolved safely. `expand` expands `$(VAR)` in subPathExpr. */
  containerMounts(
    pod: Pod,
    container: Container,
    options: { readonly restartCount: number; readonly expand: (text: string) => string },
    signal: AbortSignal,
  ): Promise<ContainerMounts>;
  /** Unmounts and removes all volumes of a pod whose containers have exited. Resolves when nothing is left of them. */
  unmount(uid: PodUid, signal: AbortSignal): Promise<void>;
}
