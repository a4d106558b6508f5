// Caches objects of one kind that pods refer to, each for a TTL (strategy Cache).
// Invariants: an immutable object is fetched once; registering a pod invalidates its objects, so that it starts with their
// current content; while the API server is unreachable the last fetched object is returned.
// Upstream: pkg/kubelet/util/manager/cache_based_manager.go.

import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import { isKind } from '../base/errors.ts';
import { References } from './references.ts';
import type { NamedObject, ObjectStrategy } from './strategy.ts';

interface CachedObjectsDeps<T> {
  /** `fromCache`: the server may answer from its watch cache. */
  readonly get: (
    namespace: string,
    name: string,
    signal: AbortSignal,
    options?: { readonly fromCache: boolean },
  ) => Promise<T>;
  readonly ttlMs: () => number;
  readonly clock: Clock;
}

interface Entry<T> {
  object: T | undefined;
  /** The not-found error, which is cached too. */
  missing: unknown;
  fetchedMs: number;
  fetching: Promise<T> | undefined;
}

export class CachedObjects<T extends NamedObject> implements ObjectStrategy<T> {
  readonly #deps: CachedObjectsDeps<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #references: References;

  constructor(deps: CachedObjectsDeps<T>) {
    this.#deps = deps;
    this.#references = new References({
      first: (namespace, name) =>
        this.#entries.set(keyOf(namespace, name), {
          object: undefined,
          missing: undefined,
          fetchedMs: Number.NEGATIVE_INFINITY,
          fetching: undefined,
        }),
      last: (namespace, name) => this.#entries.delete(keyOf(namespace, name)),
    });
  }

  register(owner: string, namespace: string, names: readonly string[]): void {
    this.#references.set(owner, namespace, names);
    for (const name of names) {
      const entry = this.#entries.get(keyOf(namespace, name));
      if (entry !== undefined) entry.fetchedMs = Number.NEGATIVE_INFINITY;
    }
  }

  unregister(owner: string): void {
    this.#references.delete(owner);
  }

  async get(namespace: string, name: string, signal: AbortSignal): Promise<T> {
    const entry = this.#entries.get(keyOf(namespace, name));
    if (entry === undefined) return await this.#deps.get(namespace, name, signal);
    if (entry.object?.immutable === true || this.#isFresh(entry)) return cachedOrThrow(entry);
    entry.fetching ??= this.#fetch(entry, namespace, name, signal).finally(() => {
      entry.fetching = undefined;
    });
    return await entry.fetching;
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
  }

  #isFresh(entry: Entry<T>): boolean {
    return this.#deps.clock.monotonic() - entry.fetchedMs < this.#deps.ttlMs();
  }

  async #fetch(entry: Entry<T>, namespace: string, name: string, signal: AbortSignal): Promise<T> {
    try {
      const fromCache = entry.object !== undefined;
      const object = await this.#deps.get(namespace, name, signal, { fromCache });
      entry.object = isOlder(object, entry.object) ? entry.object : object;
      entry.missing = undefined;
    } catch (err) {
      if (isKind(err, 'not-found')) {
        entry.object = undefined;
        entry.missing = err;
      } else if (entry.object === undefined && entry.missing === undefined) throw err;
      else return cachedOrThrow(entry);
    }
    entry.fetchedMs = this.#deps.clock.monotonic();
    return cachedOrThrow(entry);
  }
}

function cachedOrThrow<T>(entry: Entry<T>): T {
  if (entry.object === undefined) throw entry.missing;
  return entry.object;
}

/** The server's watch cache may be older than a previous response. */
function isOlder(object: NamedObject | undefined, than: NamedObject | undefined): boolean {
  const versions = [object, than].map((each) => Number(each?.metadata?.resourceVersion ?? 0));
  return (versions[0] ?? 0) < (versions[1] ?? 0) && object?.metadata?.uid === than?.metadata?.uid;
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
