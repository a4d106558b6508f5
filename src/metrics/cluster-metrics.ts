// Metrics of a node in a cluster: status updates, mirror pods, and how long the node took to become Ready. Upstream:
// pkg/kubelet/metrics and pkg/kubelet/util/node_startup_latency_tracker.go. Invariant: the start-up durations are set once.
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

  /** The node is about to be registered or updated. */
  attempting(): void {
    this.#triedMs ??= this.#deps.clock.now();
  }

  observeStatusSync(seconds: number): void {
    this.#statusSync.observe({}, seconds);
  }

  /** Measures the node's way to Ready by what the API server shows of it. */
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
    const triedMs = this.#triedMs ?? nowMs;
    const bootedMs = this.#deps.bootedAtMs;
    this.#registeredMs = nowMs;
    if (bootedMs > 0) this.#parts.pre_kubelet.set({}, (this.#beganMs - bootedMs) / 1000);
    this.#parts.pre_registration.set({}, (triedMs - this.#beganMs) / 1000);
    this.#parts.registration.set({}, (nowMs - triedMs) / 1000);
  }
}
