// Counts attempts to start pods and containers, and failed attempts. Upstream: pkg/kubelet/metrics, counted in SyncPod of
// kuberuntime_manager.go.
import type { Metrics } from '../base/metrics.ts';

export class StartMetrics {
  readonly #pods;
  readonly #podErrors;
  readonly #userPods;
  readonly #userPodErrors;
  readonly #containers;
  readonly #containerErrors;
  readonly #imageVolumes;
  readonly #mountedImages;
  readonly #imageMountErrors;

  constructor(registry: Metrics) {
    this.#pods = registry.counter({
      name: 'kubelet_started_pods_total',
      help: 'Attempts to start pods.',
    });
    this.#podErrors = registry.counter({
      name: 'kubelet_started_pods_errors_total',
      help: 'Failed attempts to start pods.',
    });
    this.#userPods = registry.counter({
      name: 'kubelet_started_user_namespaced_pods_total',
      help: 'Attempts to start pods with user namespaces.',
    });
    this.#userPodErrors = registry.counter({
      name: 'kubelet_started_user_namespaced_pods_errors_total',
      help: 'Failed attempts to start pods with user namespaces.',
    });
    this.#containers = registry.counter({
      name: 'kubelet_started_containers_total',
      help: 'Attempts to start containers, by type.',
      labels: ['container_type'],
    });
    this.#containerErrors = registry.counter({
      name: 'kubelet_started_containers_errors_total',
      help: 'Failed attempts to start containers, by type and reason.',
      labels: ['container_type', 'code'],
    });
    const counter = (name: string, help: string) =>
      registry.counter({ name: `kubelet_image_volume_${name}`, help });
    this.#imageVolumes = counter('requested_total', 'Image volumes of containers that were created.');
    this.#mountedImages = counter('mounted_succeed_total', 'Mounted image volumes.');
    this.#imageMountErrors = counter(
      'mounted_errors_total',
      'Image volumes that the runtime failed to mount.',
    );
  }

  pod(hasUserNamespace: boolean): void {
    this.#pods.inc({});
    if (hasUserNamespace) this.#userPods.inc({});
  }

  podFailed(hasUserNamespace: boolean): void {
    this.#podErrors.inc({});
    if (hasUserNamespace) this.#userPodErrors.inc({});
  }

  /** `kind`: container, init_container or ephemeral_container. */
  container(kind: string): void {
    this.#containers.inc({ container_type: kind });
  }

  /** The image volumes that a container mounts. `outcome`: undefined if its creation failed for another reason. */
  imageVolumes(count: number, outcome: 'mounted' | 'failed' | undefined): void {
    this.#imageVolumes.inc({}, count);
    if (outcome === 'mounted') this.#mountedImages.inc({}, count);
    if (outcome === 'failed') this.#imageMountErrors.inc({}, count);
  }

  containerFailed(kind: string, code: string): void {
    this.#containerErrors.inc({ container_type: kind, code });
  }
}
