// Sends events to the API server one by one, within the event rate limit. Upstream: recordToSink in
// client-go/tools/record/event.go.
// Invariants: add() never blocks; at most queueLimit events are queued, and a queued event that repeats is updated in place; an
// event that the API server rejects is dropped, one that cannot be delivered is attempted up to triesPerEvent times.
import type { Event } from '../api/k8s/types.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf, isKind } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { TokenBucket } from '../base/rate-limit.ts';
import type { Correlated } from './correlator.ts';

export type EventPatch = Required<Pick<Event, 'count' | 'lastTimestamp' | 'message'>>;

/** The event API. Rejects with KubeletError: `not-found`, `unavailable`, … */
export interface EventPost {
  create(event: Event, signal: AbortSignal): Promise<unknown>;
  /** A strategic merge patch of the event of that name. */
  patch(name: string, namespace: string, patch: EventPatch, signal: AbortSignal): Promise<unknown>;
}

interface EventSenderDeps {
  readonly post: EventPost;
  readonly bucket: TokenBucket;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1): spreads the first retries of many nodes. */
  readonly random: () => number;
}

interface QueuedEvent {
  readonly event: Event;
  readonly create: boolean;
}

const queueLimit = 1000;
const triesPerEvent = 12;
const retryMs = 10_000;
const callMs = 10_000;

export class EventSender {
  readonly #deps: EventSenderDeps;
  /** By namespace and name, in the order of sending. */
  readonly #queue = new Map<string, QueuedEvent>();
  #wake: () => void = () => undefined;
  #dropped = 0;

  constructor(deps: EventSenderDeps) {
    this.#deps = deps;
  }

  add({ event, repeats }: Correlated): void {
    const key = `${event.metadata.namespace}/${event.metadata.name}`;
    const queued = this.#queue.get(key);
    if (queued === undefined && this.#queue.size >= queueLimit) {
      if (this.#dropped++ === 0)
        this.#deps.log.error('Dropped event, too many events are queued', fields(event));
      return;
    }
    this.#queue.set(key, { event, create: queued?.create ?? !repeats });
    this.#wake();
  }

  /** Sends until `life` is aborted. Once `closing` is aborted, sends the queued events without retries. */
  async run(closing: AbortSignal, life: AbortSignal): Promise<void> {
    closing.addEventListener('abort', () => this.#wake(), { once: true });
    while (!life.aborted) {
      const [first] = this.#queue.keys();
      if (first === undefined) {
        if (closing.aborted) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      if (!(await this.#send(first, closing, life))) return;
    }
  }

  /** Returns whether to continue with the next event. */
  async #send(key: string, closing: AbortSignal, life: AbortSignal): Promise<boolean> {
    let entry: QueuedEvent | undefined;
    for (let tries = 1; ; tries++) {
      try {
        await this.#deps.bucket.take(life);
        // Dequeued only now, so that repetitions up to here are included.
        entry = this.#queue.get(key) ?? entry;
        this.#queue.delete(key);
        if (entry === undefined) return true;
        await this.#attempt(entry, life);
        this.#reportDropped();
        return true;
      } catch (err) {
        if (isAbortOf(err, life)) return false;
        if (entry === undefined || !this.#mayRetry(entry.event, err, tries)) return !closing.aborted;
        if (!(await this.#pause(tries, closing))) return false;
      }
    }
  }

  async #attempt({ event, create }: QueuedEvent, life: AbortSignal): Promise<void> {
    const { post, clock } = this.#deps;
    const { name = '', namespace = '' } = event.metadata;
    const call = (what: string, fn: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> =>
      withDeadline({ clock, ms: callMs, signal: life, what }, fn);
    if (!create) {
      const { count = 1, lastTimestamp = '', message = '' } = event;
      try {
        await call('patch event', (signal) =>
          post.patch(name, namespace, { count, lastTimestamp, message }, signal),
        );
        return;
      } catch (err) {
        // The API server deletes events after a while.
        if (!isKind(err, 'not-found')) throw err;
      }
    }
    await call('create event', (signal) => post.create(event, signal));
  }

  #mayRetry(event: Event, err: unknown, tries: number): boolean {
    const { log } = this.#deps;
    if (isKind(err, 'conflict')) {
      log.v(5).info('Server rejected event (will not retry!)', { ...fields(event), err });
      return false;
    }
    if (!isKind(err, 'unavailable') && !isKind(err, 'timeout')) {
      log.error('Server rejected event (will not retry!)', { ...fields(event), err });
      return false;
    }
    if (tries === 1) log.error('Unable to write event (may retry after sleeping)', { ...fields(event), err });
    if (tries < triesPerEvent) return true;
    log.error('Unable to write event (retry limit exceeded!)', { ...fields(event), err });
    return false;
  }

  async #pause(tries: number, closing: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#deps;
    try {
      await clock.sleep(tries === 1 ? retryMs * random() : retryMs, closing);
      return true;
    } catch {
      // The kubelet is stopping: the remaining events are not retried.
      return false;
    }
  }

  #reportDropped(): void {
    if (this.#dropped > 0) this.#deps.log.error('Dropped events', { count: this.#dropped });
    this.#dropped = 0;
  }
}

function fields({ involvedObject, reason, message, count }: Event): Record<string, unknown> {
  const { kind, namespace, name } = involvedObject;
  return { kind, object: namespace === undefined ? name : `${namespace}/${name}`, reason, message, count };
}
