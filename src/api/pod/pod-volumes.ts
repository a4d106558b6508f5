// The volumes of a pod as runtime and workers use them. Types only; volumes/ implements it.
// Upstream: pkg/kubelet/volumemanager (WaitForAttachAndMount, WaitForUnmount) and makeMounts in kubelet_pods.go.

import type { Device, ImageSpec, Mount } from '../cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../cri/runtime.ts';
import type { Container, Pod } from '../k8s/types.ts';
import type { PodUid } from './pod-ref.ts';

export interface ContainerMounts {
  readonly mounts: readonly CriRequest<Mount>[];
  readonly devices: readonly CriRequest<Device>[];
}

export interface VolumeFileRequest {
  /** The name of the volume in the pod's spec. */
  readonly volume: string;
  /** Relative to the volume. */
  readonly path: string;
  /** A larger file is rejected. */
  readonly limitBytes: number;
}

export interface VolumeFile {
  /** The path on the node, as upstream's messages name it. */
  readonly hostPath: string;
  /** Undefined if the file does not exist. */
  readonly data: Uint8Array | undefined;
}

export interface PodVolumes {
  /**
   * Resolves when every volume that the pod's containers use is mounted; cheap if they are already. Rejects with a
   * KubeletError that names the volume and the reason. volumes/ emits the FailedMount events.
   */
  mount(pod: Pod, signal: AbortSignal): Promise<void>;
  /**
   * The mounts of one container, with sub-paths resolved safely. `imageVolumes`: the images of image volumes, by volume name;
   * `expand` expands `$(VAR)` in subPathExpr.
   */
  containerMounts(
    pod: Pod,
    container: Container,
    options: {
      readonly restartCount: number;
      readonly imageVolumes: ReadonlyMap<string, CriRequest<ImageSpec>>;
      readonly expand: (text: string) => string;
    },
    signal: AbortSignal,
  ): Promise<ContainerMounts>;
  /**
   * Reads a regular file of a mounted volume, which containers of the pod may change meanwhile. Rejects if the volume is not
   * mounted or the path leaves it.
   */
  readFile(pod: Pod, request: VolumeFileRequest, signal: AbortSignal): Promise<VolumeFile>;
  /** The groups that the persistent volumes of a pod name and its security context does not; of mounted volumes only. */
  extraGroups(pod: Pod): readonly number[];
  /** Unmounts and removes all volumes of a pod whose containers have exited. Resolves when nothing is left of them. */
  unmount(uid: PodUid, signal: AbortSignal): Promise<void>;
}
