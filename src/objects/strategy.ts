// How Secrets and ConfigMaps are held: watched, cached for a TTL, or fetched each time
// (configMapAndSecretChangeDetectionStrategy). Types only. Upstream: pkg/kubelet/util/manager.
import type { KubeObject } from '../api/ports/api-client.ts';

export interface NamedObject extends KubeObject {
  /** The content never changes. */
  readonly immutable?: boolean;
}

export interface ObjectKind {
  readonly plural: 'secrets' | 'configmaps';
  /** The name in messages: `secret`, `configmap`. */
  readonly resource: string;
}

export interface ObjectStrategy<T> {
  /** Sets the objects that `owner`, a pod, refers to, replacing its earlier ones. */
  register(owner: string, namespace: string, names: readonly string[]): void;
  unregister(owner: string): void;
  get(namespace: string, name: string, signal: AbortSignal): Promise<T>;
  /** Runs until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}
