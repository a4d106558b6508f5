// Metrics of a node in a cluster: status updates, mirror pods, and the time until the node became Ready.
// Invariant: the start-up durations are set once.
// Upstream: pkg/kubelet/metrics and pkg/kubelet/util/node_startup_latency_tracker.go.
import { isNodeReady } from '../api/k8s/node-ready.ts';
import type { Node } from '../api/k8s/types.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on, reaction } from '../base/component.ts';
import type { Gauge, Metrics } from '../base/metrics.ts';

const syncBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

interface ClusterMetricsDeps {
  readonly registry: Metrics;
  readonly mirrorPods: () => number;
  readonly clock: Pick<Clock, 'now'>;
  /** When the machine booted, by the wall clock; 0 if unknown. */
  readonly bootedAtMs: number;
}

const startUpHelp = {
  pre_kubelet: 'Time from the boot of the machine to the start of the kubelet.',
  pre_registration: 'Time from the start of the kubelet to its first attempt to register the node.',
  registration: 'Time from the first attempt to register the node to its registration.',
  post_registration: 'Time from the registration of the node until it was Ready.',
} as const;

type StartUpPart = keyof typeof startUpHelp;

export class ClusterMetrics {
  readonly #deps: ClusterMetricsDeps;
  readonly #startMs: number;
  readonly #statusSync;
  readonly #parts: Readonly<Record<StartUpPart, Gauge<never>>>;
  readonly #total;
  #attemptedMs: number | undefined;
  #registeredMs: number | undefined;
  #isReady = false;

  constructor(deps: ClusterMetricsDeps) {
    const { mirrorPods, registry } = deps;
    this.#deps = deps;
    this.#startMs = deps.clock.now();
    this.#statusSync = registry.histogram({
      name: 'kubelet_pod_status_sync_duration_seconds',
      help: 'Time from the change of a pod status until the API server accepted it.',
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
      help: 'Time from the boot of the machine until the node was Ready.',
    });
    const mirrors = registry.gauge({
      name: 'kubelet_mirror_pods',
      help: 'Mirror pods of this node in the API.',
    });
    registry.onCollect(() => mirrors.set({}, mirrorPods()));
  }

  /** Called before each attempt to register or update the node. */
  attempting(): void {
    this.#attemptedMs ??= this.#deps.clock.now();
  }

  observeStatusSync(seconds: number): void {
    this.#statusSync.observe({}, seconds);
  }

  /** Measures the time to Ready by the Node object in the API. */
  follow(ownNode: { get(): Node | undefined; readonly changed: Subscribable<void> }): Component {
    return reaction('node-start-metrics', [
      on(ownNode.changed, () => {
        const node = ownNode.get();
        if (node !== undefined) this.#observeNode(isNodeReady(node));
      }),
    ]);
  }

  #observeNode(isReady: boolean): void {
    const nowMs = this.#deps.clock.now();
    if (this.#registeredMs === undefined) this.#registered(nowMs);
    if (!isReady || this.#isReady) return;
    this.#isReady = true;
    const bootedMs = this.#deps.bootedAtMs;
    this.#parts.post_registration.set({}, (nowMs - (this.#registeredMs ?? nowMs)) / 1000);
    if (bootedMs > 0) this.#total.set({}, (nowMs - bootedMs) / 1000);
  }

  #registered(nowMs: number): void {
    const attemptedMs = this.#attemptedMs ?? nowMs;
    const bootedMs = this.#deps.bootedAtMs;
    this.#registeredMs = nowMs;
    if (bootedMs > 0) this.#parts.pre_kubelet.set({}, (this.#startMs - bootedMs) / 1000);
    this.#parts.pre_registration.set({}, (attemptedMs - this.#startMs) / 1000);
    this.#parts.registration.set({}, (nowMs - attemptedMs) / 1000);
  }
}
