// Pod start durations, as defined by SIG Scalability. Owns the state of starting pods.
// Invariants: a pod is counted once; a pod that ran before this kubelet saw it is not counted; its state is dropped with it.
// Upstream: PodStartDuration and PodWorkerStartDuration in pkg/kubelet/kubelet.go,
// pkg/kubelet/util/pod_startup_latency_tracker.go.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on, reaction } from '../base/component.ts';
import { defaultBuckets, exponentialBuckets, type Metrics } from '../base/metrics.ts';

interface ReadableStore<V> {
  get(uid: PodUid): V | undefined;
  readonly changed: Subscribable<PodUid>;
}

interface Starting {
  readonly seenAtMs: number;
  readonly seenAtWallMs: number;
  readonly pulls: (readonly [startMs: number, endMs: number])[];
  workerStarted: boolean;
  /** Counted, or excluded. */
  ran: boolean;
  started: boolean;
}

const startBuckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];

export class PodStartMetrics {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #pods = new Map<PodUid, Starting>();
  readonly #containers;
  readonly #worker;
  readonly #start;
  readonly #total;
  readonly #sli;
  readonly #firstNetwork;
  #networkSeen = false;

  constructor(registry: Metrics, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
    const timed = (name: string, help: string, buckets = startBuckets) =>
      registry.histogram({ name: `kubelet_${name}`, help, buckets });
    this.#containers = timed('containers_per_pod_count', 'Containers of the pods assigned to this node.', [
      ...exponentialBuckets(1, 2, 5),
    ]);
    this.#worker = timed(
      'pod_worker_start_duration_seconds',
      'Time from first seeing a pod until its worker started.',
      [...defaultBuckets],
    );
    this.#start = timed('pod_start_duration_seconds', 'Time from first seeing a pod until it was running.');
    this.#total = timed(
      'pod_start_total_duration_seconds',
      'Time from the creation of a pod in the API until its containers were running.',
    );
    this.#sli = timed(
      'pod_start_sli_duration_seconds',
      'Time from the creation of a stateless pod until its containers were running, without image pulls and init containers.',
    );
    this.#firstNetwork = registry.gauge({
      name: 'kubelet_first_network_pod_start_sli_duration_seconds',
      help: 'kubelet_pod_start_sli_duration_seconds of the first pod with its own network namespace.',
    });
  }

  /** Follows each pod from its arrival to its first Running status. */
  follow(stores: {
    readonly desired: ReadableStore<{ readonly pod: Pod }>;
    readonly lifecycles: { readonly changed: Subscribable<PodUid> };
    readonly statuses: ReadableStore<PodStatus>;
  }): Component {
    const { desired, lifecycles, statuses } = stores;
    return reaction('pod-start-metrics', [
      on(desired.changed, (uid) => this.onDesired(uid, desired.get(uid)?.pod)),
      on(lifecycles.changed, (uid) => this.onLifecycle(uid)),
      on(statuses.changed, (uid) => this.onStatus(uid, desired.get(uid)?.pod, statuses.get(uid))),
    ]);
  }

  /** The pod was assigned to this node, changed, or (undefined) removed from it. */
  onDesired(uid: PodUid, pod: Pod | undefined): void {
    if (pod === undefined) {
      this.#pods.delete(uid);
      return;
    }
    if (this.#pods.has(uid)) return;
    this.#containers.observe({}, pod.spec?.containers.length ?? 0);
    const hasStarted = pod.status?.startTime !== undefined;
    this.#pods.set(uid, {
      seenAtMs: this.#clock.monotonic(),
      seenAtWallMs: this.#clock.now(),
      pulls: [],
      workerStarted: false,
      ran: false,
      // Another kubelet, or an earlier process of this one, had started it.
      started: hasStarted,
    });
  }

  onLifecycle(uid: PodUid): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined || pod.workerStarted) return;
    pod.workerStarted = true;
    this.#worker.observe({}, (this.#clock.monotonic() - pod.seenAtMs) / 1000);
  }

  /** Records the time spent waiting for an image. */
  async during<T>(uid: PodUid, pull: () => Promise<T>): Promise<T> {
    const startMs = this.#clock.monotonic();
    try {
      return await pull();
    } finally {
      this.#pods.get(uid)?.pulls.push([startMs, this.#clock.monotonic()]);
    }
  }

  onStatus(uid: PodUid, pod: Pod | undefined, status: PodStatus | undefined): void {
    const starting = this.#pods.get(uid);
    if (starting === undefined || pod === undefined || status === undefined) return;
    if (!starting.ran && status.phase === 'Running') {
      starting.ran = true;
      if (isNew(status, starting))
        this.#start.observe({}, (this.#clock.monotonic() - starting.seenAtMs) / 1000);
      else starting.started = true;
    }
    if (!starting.started && hasStarted(status)) {
      starting.started = true;
      this.#count(pod, status, starting);
    }
  }

  // differs from upstream: measured until the kubelet observes the containers running, not until the watch reports it back.
  #count(pod: Pod, status: PodStatus, starting: Starting): void {
    const createdAt = pod.metadata?.creationTimestamp;
    if (createdAt === undefined || createdAt === null) return;
    const totalMs = this.#clock.now() - new Date(createdAt).getTime();
    this.#total.observe({}, totalMs / 1000);
    if (isStateful(pod)) return;
    const sliSeconds = Math.max(totalMs - unionMs(starting.pulls) - initMs(pod, status), 0) / 1000;
    this.#sli.observe({}, sliSeconds);
    if (this.#networkSeen || pod.spec?.hostNetwork === true) return;
    this.#networkSeen = true;
    this.#firstNetwork.set({}, sliSeconds);
  }
}

/** Whether the containers started after this kubelet saw the pod. Statuses have whole seconds. */
function isNew({ containerStatuses = [] }: PodStatus, { seenAtWallMs }: Starting): boolean {
  const startTimes = containerStatuses.flatMap(({ state }) => state?.running?.startedAt ?? []);
  return startTimes.every((at) => new Date(at).getTime() >= Math.trunc(seenAtWallMs / 1000) * 1000);
}

function hasStarted({ containerStatuses = [] }: PodStatus): boolean {
  return containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.running !== undefined);
}

/** Has a volume that is not created for the pod itself. */
function isStateful(pod: Pod): boolean {
  return (pod.spec?.volumes ?? []).some(({ configMap, downwardAPI, emptyDir, projected, secret }) =>
    [configMap, downwardAPI, emptyDir, projected, secret].every((source) => source === undefined),
  );
}

/** Total time during which at least one session was in progress. */
function unionMs(sessions: readonly (readonly [number, number])[]): number {
  let total = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [start, end] of sessions.toSorted(([a], [b]) => a - b)) {
    total += Math.max(end - Math.max(start, reached), 0);
    reached = Math.max(reached, end);
  }
  return total;
}

/** Total run time of init containers, without sidecars, which run beside the others. */
function initMs(pod: Pod, { initContainerStatuses = [] }: PodStatus): number {
  const sidecars = new Set(
    (pod.spec?.initContainers ?? [])
      .filter((each) => each.restartPolicy === 'Always')
      .map(({ name }) => name),
  );
  return initContainerStatuses.reduce((sum, { name, state }) => {
    const { finishedAt, startedAt } = state?.terminated ?? {};
    if (sidecars.has(name) || finishedAt === undefined || startedAt === undefined) return sum;
    return sum + Math.max(new Date(finishedAt).getTime() - new Date(startedAt).getTime(), 0);
  }, 0);
}
