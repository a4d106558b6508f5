// How secrets and config maps are kept: watched, cached for a while, or fetched each time
// (configMapAndSecretChangeDetectionStrategy). Types only. Upstream: pkg/kubelet/util/manager.
import type { KubeObject } from '../api/ports/api-client.ts';

export interface NamedObject extends KubeObject {
  /** Its content never changes again. */
  readonly immutable?: boolean;
}

export interface ObjectKind {
  readonly plural: 'secrets' | 'configmaps';
  /** As messages name it: `secret`, `configmap`. */
  readonly resource: string;
}

export interface ObjectStrategy<T> {
  /** What `owner`, a pod, refers to from now on; replaces what was said of it before. */
  register(owner: string, namespace: string, names: readonly string[]): void;
  unregister(owner: string): void;
  get(namespace: string, name: string, signal: AbortSignal): Promise<T>;
  /** Until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}
