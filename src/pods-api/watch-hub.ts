// Turns changed pods into events for all watchers. Invariants: without watchers nothing is remembered; a pod is encoded at
// most once per change. Upstream: the broadcaster in pkg/kubelet/apis/pods/server.go.
// differs from upstream: there is no global queue of 1000 events that could overflow, because keys are deduplicated.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { type EncodedMessage, RpcFailure } from '../api/kubelet/rpc-service.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { watchEvent } from './messages.ts';
import type { PodEncoder } from './pod-encoder.ts';
import { PodWatcher } from './pod-watcher.ts';
import { type AnnouncedPod, computePodChange, hasEnded, type PodChange } from './watch-change.ts';

/** The stores that pods are read from. */
export interface PodsApiStores {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
    sourcesReady(): boolean;
  };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly lifecycles: { get(uid: PodUid): PodLifecycle | undefined };
}

interface WatchHubDeps {
  readonly stores: PodsApiStores;
  readonly encoder: PodEncoder;
  readonly onDropped: () => void;
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly log: Logger;
}

export class WatchHub {
  readonly #deps: WatchHubDeps;
  readonly #watchers = new Set<PodWatcher>();
  /** Empty while there are no watchers. */
  readonly #announced = new Map<PodUid, AnnouncedPod>();

  constructor(deps: WatchHubDeps) {
    this.#deps = deps;
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  register(): PodWatcher {
    const uids = sortedUids(this.#deps.stores.desired);
    if (!this.isWatched)
      for (const uid of uids) {
        const now = this.#read(uid);
        if (now !== undefined) this.#announced.set(uid, now);
      }
    const watcher = new PodWatcher(uids);
    this.#watchers.add(watcher);
    this.#deps.log.v(4).info('Registered watch client', { totalClients: this.#watchers.size });
    return watcher;
  }

  unregister(watcher: PodWatcher): void {
    this.#watchers.delete(watcher);
    watcher.fail(new RpcFailure('CANCELLED', 'the watch has ended'));
    if (!this.isWatched) this.#announced.clear();
    this.#deps.log.v(4).info('Unregistered watch client', { totalClients: this.#watchers.size });
  }

  /** The ADDED event of a pod in the initial list; undefined if it was removed meanwhile. */
  initialEvent(watcher: PodWatcher, uid: PodUid): EncodedMessage | undefined {
    const now = this.#read(uid);
    if (now === undefined) return undefined;
    watcher.learn(uid, now);
    return watchEvent('ADDED', this.#deps.encoder.encode(now.pod, now.status));
  }

  /** Resolves when every watcher that keeps up has room for an event. */
  async room(): Promise<void> {
    for (const watcher of this.#watchers) await watcher.room(this.#deps.clock);
  }

  /** Something about this pod may have changed. */
  refresh(uid: PodUid): void {
    if (!this.isWatched) return;
    const { desired, lifecycles, statuses } = this.#deps.stores;
    const change = computePodChange(this.#announced.get(uid), {
      pod: desired.get(uid)?.pod,
      status: statuses.get(uid),
      lifecycle: lifecycles.get(uid),
    });
    if (change.kind === 'none') return;
    if (change.kind === 'gone') this.#announced.delete(uid);
    else this.#announced.set(uid, change.now);
    this.#broadcast(uid, change);
  }

  #broadcast(uid: PodUid, change: Exclude<PodChange, { kind: 'none' }>): void {
    const { encoder, log, onDropped } = this.#deps;
    let encoded: Uint8Array | undefined;
    const bytes = (): Uint8Array => {
      const { pod, status } = change.now;
      encoded ??= change.kind === 'present' ? encoder.encode(pod, status) : encoder.encodeIdentity(pod);
      return encoded;
    };
    for (const watcher of this.#watchers)
      try {
        if (watcher.offer(uid, change, bytes)) continue;
        log.info('Dropped a watch client that reads too slowly');
        onDropped();
      } catch (err) {
        if (!(err instanceof RpcFailure)) throw err;
        log.error('Failed to encode a pod for watch clients', { podUID: uid, err });
        onDropped();
        watcher.fail(err);
      }
  }

  #read(uid: PodUid): AnnouncedPod | undefined {
    const { desired, lifecycles, statuses } = this.#deps.stores;
    const pod = desired.get(uid)?.pod;
    return pod && { pod, status: statuses.get(uid), ended: hasEnded(lifecycles.get(uid)) };
  }
}

export function sortedUids(desired: Pick<PodsApiStores['desired'], 'all'>): readonly PodUid[] {
  return desired
    .all()
    .map(({ uid }) => uid)
    .sort();
}
