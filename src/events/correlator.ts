// Keeps repeated events from flooding the API server: identical events are counted in one object, events that differ only in
// their message are combined, and events about a noisy object are filtered as spam. Upstream: client-go/tools/record
// (events_cache.go), whose keys, sizes and order these are.
// Invariant: the caches are bounded, however many objects there were.
import { LRUCache } from 'lru-cache';
import type { Event } from '../api/k8s/types.ts';
import type { Clock } from '../base/clock.ts';
import { TokenBucket } from '../base/rate-limit.ts';

/** Entries per cache: objects, groups and events. */
const cacheSize = 4096;
/** From this many different messages within the interval on, events are combined. */
const similarLimit = 10;
const similarIntervalMs = 600_000;
const spamBurst = 25;
const spamQps = 1 / 300;

export interface Correlated {
  /** With the name, count and first timestamp of its series. */
  readonly event: Event;
  /** Whether the series exists in the API server, so that a patch of its count is enough. */
  readonly repeats: boolean;
  /** Too many events about this object: not to be sent. */
  readonly spam: boolean;
}

interface Similar {
  /** In insertion order: the oldest is removed first. */
  readonly messages: Set<string>;
  readonly lastMs: number;
}

type Observation = Required<Pick<Event, 'count' | 'firstTimestamp'>> & { readonly name: string };

export class Correlator {
  readonly #clock: Clock;
  readonly #similar = new LRUCache<string, Similar>({ max: cacheSize });
  readonly #observed = new LRUCache<string, Observation>({ max: cacheSize });
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: cacheSize });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  correlate(event: Event): Correlated {
    const { event: grouped, key } = this.#group(event);
    const counted = this.#count(grouped, key);
    return { ...counted, spam: !this.#bucket(event).tryTake() };
  }

  #group(event: Event): { readonly event: Event; readonly key: string } {
    const key = similarKey(event);
    const nowMs = this.#clock.monotonic();
    const known = this.#similar.get(key);
    const isOld = known === undefined || nowMs - known.lastMs > similarIntervalMs;
    const messages = isOld ? new Set<string>() : known.messages;
    messages.add(event.message ?? '');
    this.#similar.set(key, { messages, lastMs: nowMs });
    if (messages.size < similarLimit) return { event, key: identicalKey(event) };
    for (const oldest of messages) {
      messages.delete(oldest);
      break;
    }
    const message = `(combined from similar events): ${event.message ?? ''}`;
    return { event: { ...event, message, reportingComponent: '', reportingInstance: '' }, key };
  }

  #count(event: Event, key: string): { readonly event: Event; readonly repeats: boolean } {
    const last = this.#observed.get(key);
    const seen: Event =
      last === undefined
        ? event
        : {
            ...event,
            metadata: { ...event.metadata, name: last.name },
            firstTimestamp: last.firstTimestamp,
            count: last.count + 1,
          };
    this.#observed.set(key, {
      name: seen.metadata.name ?? '',
      count: seen.count ?? 1,
      firstTimestamp: seen.firstTimestamp ?? '',
    });
    return { event: seen, repeats: last !== undefined };
  }

  #bucket(event: Event): TokenBucket {
    const key = objectKey(event);
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const bucket = new TokenBucket({ clock: this.#clock, qps: spamQps, burst: spamBurst });
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

function keyOf(event: Event, ...more: readonly (string | undefined)[]): string {
  const { kind, namespace, name, uid } = event.involvedObject;
  return [kind, namespace, name, uid, event.type, ...more].join('\0');
}

function objectKey(event: Event): string {
  return keyOf(event);
}

function similarKey(event: Event): string {
  return keyOf(event, 'similar', event.reason);
}

function identicalKey(event: Event): string {
  return keyOf(event, 'identical', event.reason, event.involvedObject.fieldPath, event.message);
}
