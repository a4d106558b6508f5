// Counts admitted pods by where their resources are set, and by QoS class. Upstream: recordPodLevelResourcesAdmission in
// pkg/kubelet/kubelet_pods.go.
import type { Container, Pod } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { podQosClass } from '../api/pod/qos.ts';
import { hasPodLevelResources } from '../api/pod/resources.ts';
import type { Subscribable } from '../base/channel.ts';
import { type Component, on, reaction } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';

export class AdmissionMetrics {
  readonly #admitted;

  constructor(registry: Metrics) {
    this.#admitted = registry.counter({
      name: 'kubelet_pod_level_resources_admission_total',
      help: 'Admitted pods, by where their resources are set and by QoS class.',
      labels: ['config_mode', 'qos_class'],
    });
  }

  follow(admission: {
    admittedPod(uid: PodUid): Pod | undefined;
    readonly changed: Subscribable<PodUid>;
  }): Component {
    return reaction('admission-metrics', [
      on(admission.changed, (uid) => {
        const pod = admission.admittedPod(uid);
        if (pod !== undefined) this.#count(pod);
      }),
    ]);
  }

  #count(pod: Pod): void {
    this.#admitted.inc({ config_mode: configMode(pod), qos_class: podQosClass(pod).toLowerCase() });
  }
}

function configMode(pod: Pod): string {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const ofContainers = [...containers, ...initContainers].some(hasResources);
  if (hasPodLevelResources(pod)) return ofContainers ? 'pod_and_container_level' : 'pod_level';
  return ofContainers ? 'container_level' : '';
}

function hasResources({ resources = {} }: Container): boolean {
  return [resources.requests, resources.limits].some((list) => Object.keys(list ?? {}).length > 0);
}
