// Pods and containers whose start was tried, and how often that failed. Upstream: pkg/kubelet/metrics, counted in SyncPod of
// kuberuntime_manager.go.
import type { Metrics } from '../base/metrics.ts';

export class StartMetrics {
  readonly #pods;
  readonly #podErrors;
  readonly #userPods;
  readonly #userPodErrors;
  readonly #containers;
  readonly #containerErrors;

  constructor(registry: Metrics) {
    this.#pods = registry.counter({
      name: 'kubelet_started_pods_total',
      help: 'Pods whose start was tried.',
    });
    this.#podErrors = registry.counter({
      name: 'kubelet_started_pods_errors_total',
      help: 'Starts of pods that failed.',
    });
    this.#userPods = registry.counter({
      name: 'kubelet_started_user_namespaced_pods_total',
      help: 'Pods with users of their own whose start was tried.',
    });
    this.#userPodErrors = registry.counter({
      name: 'kubelet_started_user_namespaced_pods_errors_total',
      help: 'Starts of pods with users of their own that failed.',
    });
    this.#containers = registry.counter({
      name: 'kubelet_started_containers_total',
      help: 'Containers whose start was tried, by kind.',
      labels: ['container_type'],
    });
    this.#containerErrors = registry.counter({
      name: 'kubelet_started_containers_errors_total',
      help: 'Starts of containers that failed, by kind and reason.',
      labels: ['container_type', 'code'],
    });
  }

  pod(ownUsers: boolean): void {
    this.#pods.inc({});
    if (ownUsers) this.#userPods.inc({});
  }

  podFailed(ownUsers: boolean): void {
    this.#podErrors.inc({});
    if (ownUsers) this.#userPodErrors.inc({});
  }

  /** `kind`: container, init_container or ephemeral_container. */
  container(kind: string): void {
    this.#containers.inc({ container_type: kind });
  }

  containerFailed(kind: string, code: string): void {
    this.#containerErrors.inc({ container_type: kind, code });
  }
}
