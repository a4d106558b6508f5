// What is told of a pod's resize: that it waits, and that it is being carried out. Types only; resources keeps it, status tells it.
// Upstream: the resize conditions in pkg/kubelet/status/status_manager.go.

export interface ResizeCondition {
  readonly reason: string;
  readonly message: string;
  /** Of the spec that asked for it. */
  readonly generation: number;
  /** When the reason last changed. */
  readonly sinceMs: number;
  /** When anything of it last changed. */
  readonly toldMs: number;
}

export interface ResizeConditions {
  /** PodResizePending: the reason is Deferred or Infeasible. */
  readonly pending?: ResizeCondition;
  /** PodResizeInProgress: the reason is Error when the last attempt failed. */
  readonly inProgress?: ResizeCondition;
}
