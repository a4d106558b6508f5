// The format of a recording: what was applied to a cluster, and what its kubelet did with it.
import type { ConfigMap, Pod, PodStatus, Secret } from '../../src/api/k8s/types.ts';

export interface RecordedCall {
  readonly call: string;
  /** Field names as in the .proto file; enum values by name; bytes in base64; without fields that have their default. */
  readonly request: object;
  readonly response?: object;
}

interface RecordedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly fieldPath?: string;
}

export interface Recorded {
  readonly scenario: string;
  readonly actions: readonly { readonly atMs: number; readonly action: string }[];
  readonly statuses: readonly { readonly type: string; readonly status: PodStatus }[];
  readonly events: readonly RecordedEvent[];
  readonly cri: readonly RecordedCall[];
}

/** The documents that were applied, without the node's name. */
export interface Applied {
  readonly pod: Pod;
  readonly objects: readonly (ConfigMap | Secret)[];
}
