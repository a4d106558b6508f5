// How much of a pod's garbage may be removed. Types only: decided by workers, applied by runtime.
import type { ObservedContainer } from '../pod/observed.ts';

/** `sync`: after a sync of the pod. `pass`: the periodic collection. `pressure`: the node needs disk space. */
export type CollectionCause = 'sync' | 'pass' | 'pressure';

export interface GarbageScope {
  /** All dead containers and sandboxes, not only those beyond the limits. */
  readonly all: boolean;
  /** The pod's log directory too, once no container is left. */
  readonly logDirectory: boolean;
  /** Whether the container is the only record of something that is still needed. It is never removed. */
  isNeeded(container: ObservedContainer): boolean;
}
