// One watch: the events since a revision, then new ones, as lines of JSON, with bookmarks.
// Upstream: apiserver/pkg/storage/cacher. Invariants: an object that begins or ceases to match the selectors is sent as
// ADDED or DELETED; the stream ends at its timeout, when it is cut, or when its client disconnects.
import type { Clock, Timer } from '../../../src/base/clock.ts';
import type { ApiError } from '../api-error.ts';
import type { Change, ObjectStore } from './object-store.ts';
import { apiVersionOf, type ResourceType } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

interface WatchOptions {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly matches: (object: StoredObject) => boolean;
  /** '' and '0' begin with the present objects. */
  readonly resourceVersion: string;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean;
  readonly timeoutMs: number;
  readonly bookmarkMs: number;
  /** Renders an object: as itself, or as a row of a table. */
  readonly show: (object: StoredObject) => unknown;
}

export class WatchStream {
  readonly #options: WatchOptions;
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #lines: string[] = [];
  readonly #timers: Timer[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #unsubscribe: () => void = () => undefined;

  constructor(store: ObjectStore, clock: Clock, options: WatchOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#options = options;
  }

  get type(): ResourceType {
    return this.#options.type;
  }

  /** Throws Expired if the resource version has been compacted. */
  begin(): void {
    const { resourceVersion, sendInitialEvents, timeoutMs } = this.#options;
    const fromNow = resourceVersion === '' || resourceVersion === '0' || sendInitialEvents;
    if (fromNow) {
      this.#sendAll();
      if (sendInitialEvents && this.#options.bookmarks)
        this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
    } else for (const change of this.#store.changesSince(Number(resourceVersion))) this.#send(change);
    this.#unsubscribe = this.#store.subscribe((change) => this.#send(change));
    this.#timers.push(this.#clock.setTimer(timeoutMs, () => this.end()));
    this.#planBookmark();
  }

  /** Ends the stream without an error event, as a server does. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    for (const timer of this.#timers) timer.cancel();
    this.#wake?.();
  }

  fail(error: ApiError): void {
    this.#push('ERROR', error.status());
    this.end();
  }

  /** One or more whole lines at a time. */
  async *lines(): AsyncGenerator<string> {
    try {
      while (true) {
        // A server flushes when no further event is queued.
        if (this.#lines.length > 0) yield this.#lines.splice(0).join('');
        else if (this.#ended) return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.end();
    }
  }

  #sendAll(): void {
    for (const object of this.#store.list(this.#options.type, this.#options.namespace)) {
      if (this.#options.matches(object)) this.#push('ADDED', this.#options.show(object));
    }
  }

  #send(change: Change): void {
    const { type, namespace, matches, show } = this.#options;
    if (change.type !== type || this.#ended) return;
    if (namespace !== '' && change.last.metadata.namespace !== namespace) return;
    const was = change.before !== undefined && matches(change.before);
    const is = change.after !== undefined && matches(change.after);
    if (is) this.#push(was ? 'MODIFIED' : 'ADDED', show(change.last));
    else if (was) this.#push('DELETED', show(withRevision(change.before ?? change.last, change.revision)));
  }

  #planBookmark(): void {
    const { bookmarks, bookmarkMs } = this.#options;
    if (!bookmarks) return;
    const timer = this.#clock.setTimer(bookmarkMs, () => {
      if (this.#ended) return;
      this.#bookmark();
      this.#planBookmark();
    });
    this.#timers.push(timer);
  }

  #bookmark(annotations?: Record<string, string>): void {
    const { type } = this.#options;
    const metadata = {
      resourceVersion: String(this.#store.revision),
      creationTimestamp: null,
      ...(annotations === undefined ? {} : { annotations }),
    };
    this.#push('BOOKMARK', { kind: type.kind, apiVersion: apiVersionOf(type), metadata });
  }

  #push(type: string, object: unknown): void {
    this.#lines.push(`${JSON.stringify({ type, object })}\n`);
    this.#wake?.();
  }
}

function withRevision(object: StoredObject, revision: number): StoredObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}
