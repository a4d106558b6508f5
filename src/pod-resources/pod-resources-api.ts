// podresources v1 and v1alpha1: a gRPC service that reports which devices, CPUs and memory each container holds.
// Invariants: no work while no client calls; no call blocks the event loop for longer than one container takes.
// Upstream: pkg/kubelet/apis/podresources, ListenAndServePodResources in pkg/kubelet/server.
import type { Pod } from '../api/k8s/types.ts';
import {
  type GetPodResourcesRequest,
  PodResourcesListerDefinition as listerV1,
} from '../api/kubelet/generated/podresources/v1/api.ts';
import { PodResourcesListerDefinition as listerV1alpha1 } from '../api/kubelet/generated/podresources/v1alpha1/api.ts';
import { EncodedMessage, RpcFailure, type RpcService, rpcService } from '../api/kubelet/rpc-service.ts';
import { isActivePod } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import { TokenBucket } from '../base/rate-limit.ts';
import { Slices } from '../base/slices.ts';
import { type ApiVersion, ResourcesEncoder } from './encode.ts';
import type { PodResourcesMethod, PodResourcesMetrics } from './pod-resources-metrics.ts';
import type { ResourceViews } from './resource-views.ts';
import { SharedRuns } from './shared-runs.ts';

interface DesiredPod {
  readonly uid: PodUid;
  readonly pod: Pod;
}

interface PodResourcesApiDeps {
  readonly stores: {
    readonly desired: { all(): readonly DesiredPod[]; get(uid: PodUid): DesiredPod | undefined };
    readonly lifecycles: { get(uid: PodUid): PodLifecycle | undefined };
  };
  readonly views: ResourceViews;
  /** Whether List of v1 omits pods that have ended (gate KubeletPodResourcesListUseActivePods). */
  readonly listActivePods: boolean;
  readonly rootDir: string;
  readonly listen: (options: {
    readonly path: string;
    readonly services: readonly RpcService[];
    readonly onError: (err: unknown, method?: string) => void;
  }) => Promise<{ close(): Promise<void> }>;
  /** Resolves after other pending work has run. */
  readonly pause: () => Promise<void>;
  readonly metrics: PodResourcesMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Of all calls of both versions, as upstream. */
const rateLimit = { qps: 100, burst: 10 };

export class PodResourcesApi implements Component {
  readonly name = 'pod-resources';
  readonly #deps: PodResourcesApiDeps;
  readonly #limit: TokenBucket;
  readonly #lists: Readonly<Record<ApiVersion, SharedRuns<EncodedMessage>>>;
  readonly #allocatable: SharedRuns<EncodedMessage>;

  constructor(deps: PodResourcesApiDeps) {
    this.#deps = deps;
    this.#limit = new TokenBucket({ clock: deps.clock, ...rateLimit });
    this.#lists = {
      v1: new SharedRuns(() => this.#list('v1', deps.listActivePods)),
      v1alpha1: new SharedRuns(() => this.#list('v1alpha1', false)),
    };
    this.#allocatable = new SharedRuns(async () => new EncodedMessage(await this.#encoder().allocatable()));
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const listener = await this.#listen();
    return { stopped: untilAborted(signal).then(() => listener?.close()) };
  }

  /** differs from upstream: without its socket the kubelet still runs pods; upstream exits. */
  async #listen(): Promise<{ close(): Promise<void> } | undefined> {
    const { listen, log, rootDir } = this.#deps;
    const socket = `${rootDir}/pod-resources/kubelet.sock`;
    try {
      const listener = await listen({
        path: socket,
        services: this.#services(),
        onError: (err, method) => log.error('Pod resources server failed', { method, err }),
      });
      log.info('Started to serve the pod resources API', { socket });
      return listener;
    } catch (err) {
      log.error('Failed to serve the pod resources API', { socket, err });
      return undefined;
    }
  }

  #services(): readonly RpcService[] {
    return [
      rpcService(listerV1, {
        list: () => this.#answer('v1', 'list', () => this.#lists.v1.run()),
        getAllocatableResources: () => this.#answer('v1', 'get_allocatable', () => this.#allocatable.run()),
        get: (request) => this.#answer('v1', 'get', () => this.#get(request)),
      }),
      rpcService(listerV1alpha1, {
        list: () => this.#answer('v1alpha1', 'list', () => this.#lists.v1alpha1.run()),
      }),
    ];
  }

  async #answer(
    version: ApiVersion,
    method: PodResourcesMethod,
    answer: () => Promise<EncodedMessage>,
  ): Promise<EncodedMessage> {
    const { metrics } = this.#deps;
    // As upstream, a rejected call is not counted.
    if (!this.#limit.tryTake()) throw new RpcFailure('RESOURCE_EXHAUSTED', 'rejected by rate limit');
    metrics.request(version, method);
    try {
      return await answer();
    } catch (err) {
      metrics.error(version, method);
      throw err;
    }
  }

  #encoder(): ResourcesEncoder {
    return new ResourcesEncoder(this.#deps.views, new Slices(this.#deps));
  }

  #isActive({ pod, uid }: DesiredPod): boolean {
    return isActivePod(pod, this.#deps.stores.lifecycles.get(uid));
  }

  async #list(version: ApiVersion, activeOnly: boolean): Promise<EncodedMessage> {
    const { desired } = this.#deps.stores;
    const slices = new Slices(this.#deps);
    const encoder = new ResourcesEncoder(this.#deps.views, slices);
    const pieces: (readonly Uint8Array[])[] = [];
    for (const { uid } of sortPods(desired.all())) {
      await slices.yieldIfDue();
      // It may have ended during a pause, and its devices may belong to another pod already.
      const current = desired.get(uid);
      if (current === undefined || (activeOnly && !this.#isActive(current))) continue;
      pieces.push(await encoder.pod(uid, current.pod, version));
    }
    return new EncodedMessage(pieces.flat());
  }

  async #get({ podName, podNamespace }: GetPodResourcesRequest): Promise<EncodedMessage> {
    // The last one: a pod of the same name may still be terminating.
    const found = this.#deps.stores.desired
      .all()
      .findLast(
        (each) =>
          each.pod.metadata?.name === podName &&
          each.pod.metadata.namespace === podNamespace &&
          this.#isActive(each),
      );
    if (found === undefined)
      throw new RpcFailure('UNKNOWN', `pod ${podName} in namespace ${podNamespace} not found`);
    return new EncodedMessage(await this.#encoder().pod(found.uid, found.pod, 'v1'));
  }
}

/** By namespace, name and UID. */
function sortPods(pods: readonly DesiredPod[]): readonly DesiredPod[] {
  const keyOf = ({ pod: { metadata }, uid }: DesiredPod): string =>
    [metadata?.namespace, metadata?.name, uid].join('\0');
  return pods
    .map((pod) => ({ pod, key: keyOf(pod) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ pod }) => pod);
}
