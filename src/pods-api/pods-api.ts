// The Pods API: a gRPC service with the pods of this node and the kubelet's own view of their status.
// Invariants: no work and no memory while no client is connected; no call blocks the event loop for longer than one pod takes.
// Upstream: PodsServer in pkg/kubelet/apis/pods, ListenAndServePodsServer in pkg/kubelet/server.
import { type GetPodRequest, PodsDefinition } from '../api/kubelet/generated/pods/v1alpha1/api.ts';
import {
  type EncodedMessage,
  type RpcCall,
  RpcFailure,
  type RpcService,
  rpcService,
} from '../api/kubelet/rpc-service.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { TokenBucket } from '../base/rate-limit.ts';
import { Slices } from '../base/slices.ts';
import { initialSyncComplete, podsMessage } from './messages.ts';
import { PodEncoder } from './pod-encoder.ts';
import type { PodsApiMetrics } from './pods-api-metrics.ts';
import { type PodsApiStores, sortedUids, WatchHub } from './watch-hub.ts';

/** A store that announces changes. */
interface Changing {
  readonly changed: Subscribable<PodUid>;
}

interface PodsApiDeps {
  readonly stores: {
    readonly desired: PodsApiStores['desired'] & Changing;
    readonly statuses: PodsApiStores['statuses'] & Changing;
    readonly lifecycles: PodsApiStores['lifecycles'] & Changing;
  };
  readonly rootDir: string;
  readonly listen: (options: {
    readonly path: string;
    readonly services: readonly RpcService[];
    readonly onError: (err: unknown, method?: string) => void;
  }) => Promise<{ close(): Promise<void> }>;
  /** Resolves after other pending work has run. */
  readonly pause: () => Promise<void>;
  readonly metrics: PodsApiMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Of unary calls, as upstream. */
const rateLimit = { qps: 100, burst: 10 };
const retry = { initialMs: 1_000, maxMs: 60_000 };

export class PodsApi implements Component {
  readonly name = 'pods-api';
  readonly #deps: PodsApiDeps;
  readonly #encoder = new PodEncoder();
  readonly #hub: WatchHub;
  readonly #queue: KeyedQueue<PodUid>;
  readonly #limit: TokenBucket;

  constructor(deps: PodsApiDeps) {
    this.#deps = deps;
    this.#hub = new WatchHub({
      stores: deps.stores,
      encoder: this.#encoder,
      onDropped: () => deps.metrics.watchDropped(),
      clock: deps.clock,
      log: deps.log,
    });
    const slices = new Slices(deps);
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: 1,
      backoff: retry,
      run: async (uid) => {
        await slices.yieldIfDue();
        await this.#hub.room();
        this.#hub.refresh(uid);
      },
      onError: (podUID, err, retryInMs) =>
        deps.log.error('Failed to announce a pod to watch clients', { podUID, err, retryInMs }),
    });
    this.#limit = new TokenBucket({ clock: deps.clock, ...rateLimit });
  }

  get wakes() {
    const { desired, lifecycles, statuses } = this.#deps.stores;
    const poke = (uid: PodUid): void => {
      if (this.#hub.isWatched) this.#queue.add(uid);
    };
    return [on(desired.changed, poke), on(statuses.changed, poke), on(lifecycles.changed, poke)];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    const listener = await this.#listen();
    const stop = async (): Promise<void> => {
      await listener?.close();
      await this.#queue.stop();
    };
    return { stopped: untilAborted(signal).then(stop) };
  }

  /** differs from upstream: without its socket the kubelet still runs pods; upstream exits. */
  async #listen(): Promise<{ close(): Promise<void> } | undefined> {
    const { listen, log, rootDir } = this.#deps;
    const socket = `${rootDir}/pods-api/pods-api.sock`;
    try {
      const listener = await listen({
        path: socket,
        services: [this.#service()],
        onError: (err, method) => log.error('Pods API server failed', { method, err }),
      });
      log.info('Started to serve the Pods API', { socket });
      return listener;
    } catch (err) {
      log.error('Failed to serve the Pods API', { socket, err });
      return undefined;
    }
  }

  #service(): RpcService {
    return rpcService(PodsDefinition, {
      listPods: (_, call) => this.#unary('list', () => this.#list(call)),
      getPod: (request) => this.#unary('get', async () => this.#get(request)),
      watchPods: (_, call) => this.#watch(call),
    });
  }

  async #unary(method: 'list' | 'get', answer: () => Promise<EncodedMessage>): Promise<EncodedMessage> {
    // As upstream, a rejected call is not counted.
    if (!this.#limit.tryTake()) throw new RpcFailure('RESOURCE_EXHAUSTED', 'rejected by rate limit');
    let failure: unknown;
    try {
      this.#checkReady();
      return await answer();
    } catch (err) {
      failure = err;
      throw err;
    } finally {
      this.#deps.metrics.request(method, failure);
    }
  }

  #checkReady(): void {
    if (!this.#deps.stores.desired.sourcesReady())
      throw new RpcFailure('FAILED_PRECONDITION', 'Kubelet is initializing');
  }

  async #list({ signal }: RpcCall): Promise<EncodedMessage> {
    const { desired, statuses } = this.#deps.stores;
    const slices = new Slices(this.#deps);
    const pods: Uint8Array[] = [];
    for (const uid of sortedUids(desired)) {
      await slices.yieldIfDue();
      signal.throwIfAborted();
      const pod = desired.get(uid)?.pod;
      if (pod !== undefined) pods.push(this.#encoder.encode(pod, statuses.get(uid)));
    }
    return podsMessage(pods);
  }

  #get({ podUID }: GetPodRequest): EncodedMessage {
    const { desired, statuses } = this.#deps.stores;
    const uid = asPodUid(podUID);
    const pod = desired.get(uid)?.pod;
    if (pod === undefined) throw new RpcFailure('NOT_FOUND', `pod with UID ${podUID} not found`);
    return podsMessage([this.#encoder.encode(pod, statuses.get(uid))]);
  }

  async *#watch(call: RpcCall): AsyncGenerator<EncodedMessage> {
    let failure: unknown;
    try {
      this.#checkReady();
      yield* this.#events(call);
    } catch (err) {
      failure = err;
      throw err;
    } finally {
      this.#deps.metrics.request('watch', failure ?? call.signal.reason);
    }
  }

  async *#events({ signal }: RpcCall): AsyncGenerator<EncodedMessage> {
    const hub = this.#hub;
    const slices = new Slices(this.#deps);
    const watcher = hub.register();
    try {
      for (let uid = watcher.nextInitial(); uid !== undefined; uid = watcher.nextInitial()) {
        await slices.yieldIfDue();
        const event = hub.initialEvent(watcher, uid);
        if (event !== undefined) yield event;
      }
      yield initialSyncComplete;
      for (;;) yield await watcher.next(signal);
    } finally {
      hub.unregister(watcher);
    }
  }
}
