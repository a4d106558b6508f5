// What a node of a cluster does with its API server, beyond the requests themselves. Upstream: pkg/kubelet/metrics and
// pkg/kubelet/util/node_startup_latency_tracker.go. Invariant: the times of the start are written once.
import type { Clock } from '../base/clock.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';

const syncBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

interface ClusterMetricsDeps {
  readonly registry: Metrics;
  readonly mirrorPods: () => number;
  readonly clock: Pick<Clock, 'now'>;
  /** When the machine was started, by the wall clock; 0: unknown. */
  readonly bootedAtMs: () => number;
}

const startUpHelp = {
  pre_kubelet: 'From starting the machine until the kubelet started.',
  pre_registration: 'From starting the kubelet until it first tried to register the node.',
  registration: 'From first trying to register the node until it was registered.',
  post_registration: 'From registering the node until it was ready.',
} as const;

type StartUpPart = keyof typeof startUpHelp;

export class ClusterMetrics {
  readonly #deps: ClusterMetricsDeps;
  readonly #beganMs: number;
  readonly #statusSync;
  readonly #parts: Readonly<Record<StartUpPart, Gauge<never>>>;
  readonly #total;
  #triedMs: number | undefined;
  #registeredMs: number | undefined;
  #isReady = false;

  constructor(deps: ClusterMetricsDeps) {
    const { mirrorPods, registry } = deps;
    this.#deps = deps;
    this.#beganMs = deps.clock.now();
    this.#statusSync = registry.histogram({
      name: 'kubelet_pod_status_sync_duration_seconds',
      help: 'How long a pod status waited until the API server had it.',
      buckets: syncBuckets,
    });
    const part = (name: StartUpPart): Gauge<never> =>
      registry.gauge({ name: `kubelet_node_startup_${name}_duration_seconds`, help: startUpHelp[name] });
    this.#parts = {
      pre_kubelet: part('pre_kubelet'),
      pre_registration: part('pre_registration'),
      registration: part('registration'),
      post_registration: part('post_registration'),
    };
    this.#total = registry.gauge({
      name: 'kubelet_node_startup_duration_seconds',
      help: 'From starting the machine until the node was ready.',
    });
    const mirrors = registry.gauge({
      name: 'kubelet_mirror_pods',
      help: 'Mirror pods of this node in the API.',
    });
    registry.onCollect(() => mirrors.set({}, mirrorPods()));
  }

  /** The node is about to be registered, or is looked at again. */
  attempting(): void {
    this.#triedMs ??= this.#deps.clock.now();
  }

  observeStatusSync(seconds: number): void {
    this.#statusSync.observe({}, seconds);
  }

  /** What the API has of the node, each time it was seen. */
  observeNode({ isReady }: { readonly isReady: boolean }): void {
    const nowMs = this.#deps.clock.now();
    if (this.#registeredMs === undefined) this.#registered(nowMs);
    if (!isReady || this.#isReady) return;
    this.#isReady = true;
    const bootedMs = this.#deps.bootedAtMs();
    this.#parts.post_registration.set({}, (nowMs - (this.#registeredMs ?? nowMs)) / 1000);
    if (bootedMs > 0) this.#total.set({}, (nowMs - bootedMs) / 1000);
  }

  #registered(nowMs: number): void {
    const triedMs = this.#triedMs ?? nowMs;
    const bootedMs = this.#deps.bootedAtMs();
    this.#registeredMs = nowMs;
    if (bootedMs > 0) this.#parts.pre_kubelet.set({}, (this.#beganMs - bootedMs) / 1000);
    this.#parts.pre_registration.set({}, (triedMs - this.#beganMs) / 1000);
    this.#parts.registration.set({}, (nowMs - triedMs) / 1000);
  }
}
