// Metrics of the work on pods, sandboxes and cgroups, and of rejected pods. Upstream: pkg/kubelet/metrics.
import { defaultBuckets, type Metrics } from '../base/metrics.ts';

/** Other reasons are counted together, to bound the label's values. Upstream: recordAdmissionRejection. */
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
  readonly #restarted;
  readonly #sandboxes;
  readonly #sandboxErrors;
  readonly #cgroups;
  readonly #rejections;
  readonly #memoryMin;
  readonly #memoryLow;
  readonly #cleaned;
  readonly #cleanErrors;
  readonly #hookFallbacks;
  readonly #cutSleeps;

  constructor(registry: Metrics) {
    const timed = <L extends string>(name: string, help: string, labels: readonly L[]) =>
      registry.histogram({ name: `kubelet_${name}`, help, labels, buckets: defaultBuckets });
    this.#workers = timed('pod_worker_duration_seconds', 'Duration of pod worker steps, by operation type.', [
      'operation_type',
    ]);
    this.#orphans = registry.counter({
      name: 'kubelet_orphaned_runtime_pods_total',
      help: 'Pods found in the runtime that are not assigned to this node.',
    });
    this.#restarted = registry.counter({
      name: 'kubelet_restarted_pods_total',
      help: 'Pods that were removed and added again under the same UID, by whether they are static.',
      labels: ['static'],
    });
    this.#restarted.inc({ static: 'true' }, 0);
    this.#restarted.inc({ static: '' }, 0);
    this.#sandboxes = timed(
      'run_podsandbox_duration_seconds',
      'Duration of sandbox creation, by runtime handler.',
      ['runtime_handler'],
    );
    this.#sandboxErrors = registry.counter({
      name: 'kubelet_run_podsandbox_errors_total',
      help: 'Failed sandbox creations, by runtime handler.',
      labels: ['runtime_handler'],
    });
    this.#cgroups = timed(
      'cgroup_manager_duration_seconds',
      'Duration of cgroup operations, by operation type.',
      ['operation_type'],
    );
    this.#rejections = registry.counter({
      name: 'kubelet_admission_rejections_total',
      help: 'Rejected pods, by reason.',
      labels: ['reason'],
    });
    this.#memoryMin = registry.gauge({
      name: 'kubelet_memory_qos_node_memory_min_bytes',
      help: 'Requested memory of Guaranteed pods that the kernel never reclaims (memory.min).',
    });
    this.#memoryLow = registry.gauge({
      name: 'kubelet_memory_qos_node_memory_low_bytes',
      help: 'Requested memory of Burstable pods that the kernel reclaims last (memory.low).',
    });
    this.protectedMemory(0n, 0n);
    this.#cleaned = registry.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes',
      help: 'Directories of orphaned pods found by the last cleanup.',
    });
    this.#cleanErrors = registry.gauge({
      name: 'kubelet_orphan_pod_cleaned_volumes_errors',
      help: 'Directories of orphaned pods that the last cleanup failed to remove.',
    });
    this.#hookFallbacks = registry.counter({
      name: 'kubelet_lifecycle_handler_http_fallbacks_total',
      help: 'HTTPS hooks that succeeded over plain HTTP.',
    });
    this.#cutSleeps = registry.counter({
      name: 'kubelet_sleep_action_terminated_early_total',
      help: 'Sleep hooks that ended before their time.',
    });
  }

  /** `operation`: create, sync, kill or terminated. */
  step(operation: string, seconds: number): void {
    this.#workers.observe({ operation_type: operation }, seconds);
  }

  orphan(): void {
    this.#orphans.inc({});
  }

  restarted(isStatic: boolean): void {
    this.#restarted.inc({ static: isStatic ? 'true' : '' });
  }

  sandbox(handler: string, seconds: number, failed: boolean): void {
    this.#sandboxes.observe({ runtime_handler: handler }, seconds);
    if (failed) this.#sandboxErrors.inc({ runtime_handler: handler });
  }

  /** `operation`: create, update or destroy. */
  cgroup(operation: string, seconds: number): void {
    this.#cgroups.observe({ operation_type: operation }, seconds);
  }

  protectedMemory(guaranteedBytes: bigint, burstableBytes: bigint): void {
    this.#memoryMin.set({}, Number(guaranteedBytes));
    this.#memoryLow.set({}, Number(burstableBytes));
  }

  rejected(reason: string): void {
    const extended = reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other';
    this.#rejections.inc({ reason: knownReasons.has(reason) ? reason : extended });
  }

  /** Bound, since hooks take them as functions. */
  readonly hooks = {
    fellBackToHttp: (): void => this.#hookFallbacks.inc({}),
    sleepCutShort: (): void => this.#cutSleeps.inc({}),
  };

  clearedDirectories(found: number, failed: number): void {
    this.#cleaned.set({}, found);
    this.#cleanErrors.set({}, failed);
  }
}
