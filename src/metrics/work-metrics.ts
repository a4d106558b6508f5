// What the kubelet's work on pods, sandboxes and cgroups costs, and what it refuses. Upstream: pkg/kubelet/metrics.
import { defaultBuckets, type Metrics } from '../base/metrics.ts';

/** Other reasons are counted as one: a label's values are bounded. Upstream: recordAdmissionRejection. */
const knownReasons: ReadonlySet<string> = new Set([
  'AppArmor',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'PodOSNotSupported',
  'InvalidNodeInfo',
  'InitContainerRestartPolicyForbidden',
  'SupplementalGroupsPolicyNotSupported',
  'UnexpectedAdmissionError',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
  'OutOfcpu',
  'OutOfmemory',
  'OutOfephemeral-storage',
  'OutOfpods',
  'PodLevelResourcesNotSupported',
  'Evicted',
  'SysctlForbidden',
  'TopologyAffinityError',
  'NodeShutdown',
  'VolumeAttachmentLimitExceeded',
]);

export class WorkMetrics {
  readonly #workers;
  readonly #orphans;
  readonly #sandboxes;
  readonly #sandboxErrors;
  readonly #cgroups;
  readonly #rejections;
  readonly #cleaned;
  readonly #cleanErrors;

  constructor(registry: Metrics) {
    const timed = <L extends string>(name: string, help: string, labels: readonly L[]) =>
      registry.histogram({ name: `kubelet_${name}`, help, labels, buckets: defaultBuckets });
    this.#workers = timed('pod_worker_duration_seconds', 'How long a step of a pod worker took, by kind.', [
      'operation_type',
    ]);
    this.#orphans = registry.counter({
      name: 'kubelet_orphaned_runtime_pods_total',
      help: 'Pods found on the runtime that nobody wanted.',
    });
    this.#sandboxes = timed(
      'run_podsandbox_duration_seconds',
      'How long making a sandbox took, by handler.',
      ['runtime_handler'],
    );
    this.#sandboxErrors = registry.counter({
      name: 'kubelet_run_podsandbox_errors_total',
      help: 'Sandboxes that could not be made, by handler.',
      labels: ['runtime_handler'],
    });
    this.#cgroups = timed('cgroup_manager_duration_seconds', 'How long work on a cgroup took, by kind.', [
      'operation_type',
    ]);
    this.#rejections = registry.counter({
      name: 'kubelet_admission_rejections_total',
      help: 'Pods that were not admitted, by reason.',
      labels: ['reason'],
    });
    this.#cleaned = registry.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'Directories of pods nobody knows that the last round found.',
    });
    this.#cleanErrors = registry.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'Of these, those that could not be cleared.',
    });
  }

  /** create, sync, kill or terminated. */
  step(operation: string, seconds: number): void {
    this.#workers.observe({ operation_type: operation }, seconds);
  }

  orphan(): void {
    this.#orphans.inc({});
  }

  sandbox(handler: string, seconds: number, failed: boolean): void {
    this.#sandboxes.observe({ runtime_handler: handler }, seconds);
    if (failed) this.#sandboxErrors.inc({ runtime_handler: handler });
  }

  /** create, update or destroy. */
  cgroup(operation: string, seconds: number): void {
    this.#cgroups.observe({ operation_type: operation }, seconds);
  }

  rejected(reason: string): void {
    const extended = reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
    this.#rejections.inc({ reason: knownReasons.has(reason) ? reason : extended });
  }

  clearedDirectories(found: number, failed: number): void {
    this.#cleaned.set({}, found);
    this.#cleanErrors.set({}, failed);
  }
}
