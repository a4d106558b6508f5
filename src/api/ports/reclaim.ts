// What eviction reclaims on the node before it terminates pods. Types only: images/ and runtime/ provide it.
// Upstream: ImageGC and ContainerGC in pkg/kubelet/eviction/types.go.

export interface ImageReclaim {
  /** Removes every unused image that is older than the minimum age. Resolves to the number of bytes freed. */
  deleteUnusedImages(signal: AbortSignal): Promise<number>;
}

export interface ContainerReclaim {
  /** Removes dead containers, including all of those of terminated pods, with their logs and empty sandboxes. */
  deleteUnusedContainers(signal: AbortSignal): Promise<void>;
}
