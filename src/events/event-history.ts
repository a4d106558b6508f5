// The last events of each pod and of the node, for /explain: available without an API server, and after the API server's copy
// has expired. Invariant: bounded in objects and in events per object; the oldest are removed first.
import { LRUCache } from 'lru-cache';
import type { Event } from '../api/k8s/types.ts';

export interface PastEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
}

const objectLimit = 512;
const eventLimit = 40;

export class EventHistory {
  /** By the pod's UID or the node's name, then by the event's name, in the order in which events last occurred. */
  readonly #byKey = new LRUCache<string, Map<string, PastEvent>>({ max: objectLimit });

  put(key: string, event: Event): void {
    const events = this.#byKey.get(key) ?? new Map<string, PastEvent>();
    const name = event.metadata.name ?? '';
    events.delete(name);
    events.set(name, pastEvent(event));
    for (const oldest of events.keys()) {
      if (events.size <= eventLimit) break;
      events.delete(oldest);
    }
    this.#byKey.set(key, events);
  }

  /** In the order in which they last occurred. */
  recent(key: string): readonly PastEvent[] {
    return [...(this.#byKey.peek(key)?.values() ?? [])];
  }
}

function pastEvent(event: Event): PastEvent {
  const { fieldPath } = event.involvedObject;
  return {
    type: event.type ?? '',
    reason: event.reason ?? '',
    message: event.message ?? '',
    ...(fieldPath === undefined ? {} : { fieldPath }),
    count: event.count ?? 1,
    firstTimestamp: event.firstTimestamp ?? '',
    lastTimestamp: event.lastTimestamp ?? '',
  };
}
