// What eviction reclaims on the node before it terminates pods. Types only: images/ and runtime/ provide it.
// Upstream: ImageGC and ContainerGC in pkg/kubelet/eviction/types.go.
import type { PodUid } from '../pod/pod-ref.ts';

export interface ImageReclaim {
  /** Removes every unused image that is older than the minimum age. Resolves to the number of bytes freed. */
  deleteUnusedImages(signal: AbortSignal): Promise<number>;
}

export interface ContainerReclaim {
  /** Removes dead containers, including all of those of terminated pods, with their logs and empty sandboxes. */
  deleteUnusedContainers(signal: AbortSignal): Promise<void>;
  /** Removes the containers and logs of evicted pods, as soon as the API server has their exits. Resolves when nothing is left. */
  deleteEvicted(pods: ReadonlySet<PodUid>, signal: AbortSignal): Promise<void>;
}
