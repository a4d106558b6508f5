// The conditions of a pod's in-place resize: pending and in progress. Types only; resources/ keeps them, status reports them.
// Upstream: the resize conditions in pkg/kubelet/status/status_manager.go.

export interface ResizeCondition {
  readonly reason: string;
  readonly message: string;
  /** Generation of the spec that requested it. */
  readonly generation: number;
  /** When the reason last changed. */
  readonly sinceMs: number;
  /** When any field last changed. */
  readonly updatedMs: number;
}

export interface ResizeConditions {
  /** PodResizePending: the reason is Deferred or Infeasible. */
  readonly pending?: ResizeCondition;
  /** PodResizeInProgress: the reason is Error if the last attempt failed. */
  readonly inProgress?: ResizeCondition;
}
