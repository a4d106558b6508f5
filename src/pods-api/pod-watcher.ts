// One client of WatchPods: the pods it knows and the events it has not received yet.
// Invariants: an event is queued only for a pod whose ADDED was sent or is queued; the queue is bounded, and a watcher that
// exceeds it fails instead of missing an event. Upstream: a client channel of the broadcaster in pkg/kubelet/apis/pods.
import { type EncodedMessage, RpcFailure } from '../api/kubelet/rpc-service.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import { type WatchEventName, watchEvent } from './messages.ts';
import type { AnnouncedPod, PodChange } from './watch-change.ts';

/** Upstream's size of the channel. */
const longestQueue = 100;
/**
 * differs from upstream: a client whose queue is full gets this time to catch up. A burst of changes, such as the first statuses
 * after a start, must not drop clients that do read.
 */
const graceMs = 500;

export class PodWatcher {
  readonly #known = new Map<PodUid, AnnouncedPod>();
  /** Pods of the initial list that are still to be sent. Their changes need no event. */
  readonly #initial: Set<PodUid>;
  #queue: EncodedMessage[] = [];
  #failure: RpcFailure | undefined;
  #wake: () => void = () => undefined;
  #onRoom: () => void = () => undefined;
  /** When the queue became full; undefined once the client has received all of it. */
  #fullSinceMs: number | undefined;

  constructor(initial: Iterable<PodUid>) {
    this.#initial = new Set(initial);
  }

  /** The next pod of the initial list; undefined after the last. */
  nextInitial(): PodUid | undefined {
    const [uid] = this.#initial;
    if (uid !== undefined) this.#initial.delete(uid);
    return uid;
  }

  /** The client is about to receive the pod as part of its initial list. */
  learn(uid: PodUid, pod: AnnouncedPod): void {
    this.#known.set(uid, pod);
  }

  /** Queues the event that the change means for this watcher, if any. False: the queue is full, and the watcher has failed. */
  offer(uid: PodUid, change: PodChange, bytes: () => Uint8Array): boolean {
    const type = this.#eventFor(uid, change);
    if (type === undefined || this.#failure !== undefined) return true;
    if (this.#queue.length >= longestQueue) {
      this.fail(new RpcFailure('RESOURCE_EXHAUSTED', 'watch client channel closed'));
      return false;
    }
    this.#queue.push(watchEvent(type, bytes()));
    this.#wake();
    return true;
  }

  /** Resolves when an event can be queued without failing the watcher, or when its client did not catch up in time. */
  async room(clock: Pick<Clock, 'monotonic' | 'setTimer'>): Promise<void> {
    if (this.#queue.length < longestQueue) return;
    const nowMs = clock.monotonic();
    this.#fullSinceMs ??= nowMs;
    const leftMs = this.#fullSinceMs + graceMs - nowMs;
    if (leftMs <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(leftMs, resolve);
      this.#onRoom = () => {
        timer.cancel();
        resolve();
      };
    });
    this.#onRoom = () => undefined;
  }

  /** Ends the watch; queued events are dropped, since the client has to list again anyway. */
  fail(failure: RpcFailure): void {
    this.#failure ??= failure;
    this.#queue = [];
    this.#wake();
    this.#onRoom();
  }

  /** The next event. Rejects with the failure of the watcher or the reason of the signal. */
  async next(signal: AbortSignal): Promise<EncodedMessage> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      const event = this.#queue.shift();
      if (this.#queue.length === 0) this.#fullSinceMs = undefined;
      this.#onRoom();
      if (event !== undefined) return event;
      await this.#woken(signal);
    }
  }

  #eventFor(uid: PodUid, change: PodChange): WatchEventName | undefined {
    if (change.kind === 'none') return undefined;
    if (this.#initial.has(uid)) {
      if (change.kind === 'gone') this.#initial.delete(uid);
      return undefined;
    }
    const known = this.#known.get(uid);
    if (change.kind !== 'present') return this.#known.delete(uid) ? 'DELETED' : undefined;
    const { now } = change;
    if (known === undefined && now.ended) return undefined;
    if (known?.pod === now.pod && known.status === now.status) return undefined;
    this.#known.set(uid, now);
    return known === undefined ? 'ADDED' : 'MODIFIED';
  }

  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#wake = () => undefined;
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener('abort', wake);
    });
  }
}
