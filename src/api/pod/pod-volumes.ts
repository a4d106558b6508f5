// What a pod's start and end ask of its volumes. Types only; volumes implements it, runtime and workers use it.
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
   * Resolves when every volume that containers of the pod mount is there; cheap when it is already. Rejects with a
   * KubeletError that names the volume and the reason; FailedMount events are told by volumes itself.
   */
  mount(pod: Pod, signal: AbortSignal): Promise<void>;
  /** The mounts of one container, sub-paths resolved safely. `expand` fills in `$(VAR)` of subPathExpr. */
  containerMounts(
    pod: Pod,
    container: Container,
    options: { readonly restartCount: number; readonly expand: (text: string) => string },
    signal: AbortSignal,
  ): Promise<ContainerMounts>;
  /** Unmounts and removes all volumes of a pod whose containers have ended; resolves when nothing of them is left. */
  unmount(uid: PodUid, signal: AbortSignal): Promise<void>;
}
