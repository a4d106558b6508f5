// The kubelet's own metrics: runtime operations, pods and containers, and the groups of the other files. Owns the registry.
// Invariant: names, types, labels and buckets are upstream's, so that dashboards keep working.
// Upstream: pkg/kubelet/metrics.
import type { Clock } from '../base/clock.ts';
import { exponentialBuckets, Metrics } from '../base/metrics.ts';
import { AdmissionMetrics } from './admission-metrics.ts';
import { CsiMetrics } from './csi-metrics.ts';
import { DeviceMetrics } from './device-metrics.ts';
import { EvictionMetrics } from './eviction-metrics.ts';
import { ImageMetrics } from './image-metrics.ts';
import { PlegMetrics } from './pleg-metrics.ts';
import { PodStartMetrics } from './pod-start-metrics.ts';
import { ResizeMetrics } from './resize-metrics.ts';
import { StartMetrics } from './start-metrics.ts';
import { StorageHealthMetrics } from './storage-health-metrics.ts';
import { TerminationMetrics } from './termination-metrics.ts';
import { VolumeMetrics } from './volume-metrics.ts';
import { WorkMetrics } from './work-metrics.ts';

interface KubeletMetricsDeps {
  readonly desired: { all(): readonly { readonly source: string }[] };
  readonly observed: {
    all(): ReadonlyMap<
      string,
      {
        readonly sandboxes: readonly { readonly ready: boolean }[];
        readonly containers: readonly { readonly state: string }[];
      }
    >;
  };
  readonly gates: readonly { readonly name: string; readonly stage: string; readonly enabled: boolean }[];
  readonly nodeName: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}

interface RuntimeObservation {
  readonly operation: string;
  /** Set for sandbox operations. */
  readonly runtimeHandler?: string;
  readonly seconds: number;
  readonly error?: unknown;
}

export class KubeletMetrics {
  /** For components that register their own metrics. */
  readonly registry = new Metrics();
  readonly images = new ImageMetrics(this.registry);
  readonly volumes = new VolumeMetrics(this.registry);
  readonly csi = new CsiMetrics(this.registry);
  readonly storageHealth = new StorageHealthMetrics(this.registry);
  readonly starts = new StartMetrics(this.registry);
  readonly resizes = new ResizeMetrics(this.registry);
  readonly devices = new DeviceMetrics(this.registry);
  readonly admissions = new AdmissionMetrics(this.registry);
  readonly terminations = new TerminationMetrics(this.registry);
  readonly work = new WorkMetrics(this.registry);
  readonly pleg: PlegMetrics;
  readonly podStarts: PodStartMetrics;
  readonly #operations = this.registry.counter({
    name: 'kubelet_runtime_operations_total',
    help: 'Runtime operations, by operation type.',
    labels: ['operation_type'],
  });
  readonly #durations = this.registry.histogram({
    name: 'kubelet_runtime_operations_duration_seconds',
    help: 'Duration of runtime operations, by operation type.',
    labels: ['operation_type'],
    buckets: exponentialBuckets(0.005, 2.5, 14),
  });
  readonly #errors = this.registry.counter({
    name: 'kubelet_runtime_operations_errors_total',
    help: 'Failed runtime operations, by operation type.',
    labels: ['operation_type'],
  });
  readonly evictions = new EvictionMetrics(this.registry);
  readonly #preemptions = this.registry.counter({
    name: 'kubelet_preemptions',
    help: 'Pods preempted for critical pods, by the resource that was short.',
    labels: ['preemption_signal'],
  });

  constructor(deps: KubeletMetricsDeps) {
    this.pleg = new PlegMetrics(this.registry, deps.clock);
    this.podStarts = new PodStartMetrics(this.registry, deps.clock);
    const node = this.registry.gauge({
      name: 'kubelet_node_name',
      help: 'The name of this node; always 1.',
      labels: ['node'],
    });
    node.set({ node: deps.nodeName }, 1);
    const enabled = this.registry.gauge({
      name: 'kubernetes_feature_enabled',
      help: 'Whether a feature gate is enabled, by name and stage.',
      labels: ['name', 'stage'],
    });
    for (const gate of deps.gates) enabled.set({ name: gate.name, stage: gate.stage }, gate.enabled ? 1 : 0);
    this.#registerCounts(deps);
  }

  observeRuntime(observation: RuntimeObservation): void {
    const labels = { operation_type: observation.operation };
    this.#operations.inc(labels);
    this.#durations.observe(labels, observation.seconds);
    const failed = observation.error !== undefined;
    if (failed) this.#errors.inc(labels);
    const { runtimeHandler } = observation;
    if (runtimeHandler !== undefined) this.work.sandbox(runtimeHandler, observation.seconds, failed);
  }

  countPreemption(resource: string): void {
    this.#preemptions.inc({ preemption_signal: resource });
  }

  names(): readonly string[] {
    return this.registry.names();
  }

  render(): string {
    return this.registry.render();
  }

  #registerCounts({ desired, observed }: KubeletMetricsDeps): void {
    const desiredPods = this.registry.gauge({
      name: 'kubelet_desired_pods',
      help: 'Pods assigned to this node, by whether they are static.',
      labels: ['static'],
    });
    const pods = this.registry.gauge({
      name: 'kubelet_running_pods',
      help: 'Pods with a ready sandbox.',
    });
    const containers = this.registry.gauge({
      name: 'kubelet_running_containers',
      help: 'Containers in the runtime, by state.',
      labels: ['container_state'],
    });
    this.registry.onCollect(() => {
      const observedPods = [...observed.all().values()];
      const allDesired = desired.all();
      const fromApi = allDesired.filter(({ source }) => source === 'api').length;
      desiredPods.set({ static: '' }, fromApi);
      desiredPods.set({ static: 'true' }, allDesired.length - fromApi);
      pods.set({}, observedPods.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length);
      containers.clear();
      for (const state of ['created', 'exited', 'running', 'unknown']) {
        const count = observedPods.flatMap((pod) =>
          pod.containers.filter((each) => each.state === state),
        ).length;
        if (count > 0) containers.set({ container_state: state }, count);
      }
    });
  }
}
