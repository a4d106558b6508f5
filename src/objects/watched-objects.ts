// Watches objects of one kind that this node's pods refer to (strategy Watch), each by a watch of its own, since a node may
// only read single Secrets and ConfigMaps by name.
// Invariants: an object is watched while a pod refers to it and it is not immutable; a change is announced after it can be
// read. Upstream: pkg/kubelet/util/manager/watch_based_manager.go.
import type { Follow, WatchSink } from '../api/ports/api-client.ts';
import { apiPath } from '../api/ports/api-client.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import { References } from './references.ts';
import type { NamedObject, ObjectKind, ObjectStrategy } from './strategy.ts';

interface WatchedObjectsDeps<T extends NamedObject> {
  readonly kind: ObjectKind;
  readonly follow: Follow;
  /** For objects that no pod refers to by name, such as a volume driver's secret. */
  readonly get: (namespace: string, name: string, signal: AbortSignal) => Promise<T>;
  readonly announce: (namespace: string, name: string) => void;
  readonly clock: Clock;
}

/**
 * How long a reader waits for the first list.
 * differs from upstream: 1 s there; here a slightly slower server does not cost a full retry of the pod.
 */
const firstListMs = 5_000;

interface Entry<T> {
  object: T | undefined;
  synced: boolean;
  failure: unknown;
  watching: AbortController | undefined;
  readonly waiting: Set<() => void>;
}

export class WatchedObjects<T extends NamedObject> implements ObjectStrategy<T> {
  readonly #deps: WatchedObjectsDeps<T>;
  readonly #references: References;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(deps: WatchedObjectsDeps<T>) {
    this.#deps = deps;
    this.#references = new References({
      first: (namespace, name) => this.#add(namespace, name),
      last: (namespace, name) => this.#drop(namespace, name),
    });
  }

  register(owner: string, namespace: string, names: readonly string[]): void {
    this.#references.set(owner, namespace, names);
  }

  unregister(owner: string): void {
    this.#references.delete(owner);
  }

  async get(namespace: string, name: string, signal: AbortSignal): Promise<T> {
    const entry = this.#entries.get(keyOf(namespace, name));
    if (entry === undefined) return await this.#deps.get(namespace, name, signal);
    if (!entry.synced) await this.#untilSynced(entry, signal);
    if (entry.object !== undefined) return entry.object;
    throw new KubeletError('not-found', 'NotFound', `${this.#deps.kind.resource} "${name}" not found`);
  }

  /** Watches from now on, until the signal is aborted; resolves when every watch has ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const [key, entry] of this.#entries) this.#watch(key, entry);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    for (const entry of this.#entries.values()) entry.watching?.abort();
    await Promise.all(this.#running);
  }

  #add(namespace: string, name: string): void {
    const entry: Entry<T> = {
      object: undefined,
      synced: false,
      failure: undefined,
      watching: undefined,
      waiting: new Set(),
    };
    const key = keyOf(namespace, name);
    this.#entries.set(key, entry);
    if (this.#signal !== undefined) this.#watch(key, entry);
  }

  #drop(namespace: string, name: string): void {
    const key = keyOf(namespace, name);
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    entry?.watching?.abort();
  }

  #watch(key: string, entry: Entry<T>): void {
    if (this.#signal?.aborted !== false || entry.watching !== undefined) return;
    const [namespace = '', name = ''] = key.split('/');
    const watching = new AbortController();
    entry.watching = watching;
    const target = {
      path: apiPath('api', 'v1', 'namespaces', namespace, this.#deps.kind.plural),
      fieldSelector: `metadata.name=${name}`,
    };
    const run = this.#deps.follow<T>(target, this.#sink(namespace, name, entry), watching.signal);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  #sink(namespace: string, name: string, entry: Entry<T>): WatchSink<T> {
    const set = (object: T | undefined): void => {
      const changed =
        entry.synced && entry.object?.metadata?.resourceVersion !== object?.metadata?.resourceVersion;
      entry.object = object;
      entry.synced = true;
      entry.failure = undefined;
      // An immutable object cannot change: its watch is stopped.
      if (object?.immutable === true) entry.watching?.abort();
      for (const wake of entry.waiting) wake();
      if (changed) this.#deps.announce(namespace, name);
    };
    return {
      replace: (objects) => set(objects[0]),
      upsert: set,
      remove: () => set(undefined),
      failed: (err) => {
        entry.failure = err;
      },
    };
  }

  async #untilSynced(entry: Entry<T>, signal: AbortSignal): Promise<void> {
    const { clock, kind } = this.#deps;
    const what = `sync ${kind.resource} cache`;
    try {
      await withDeadline({ clock, ms: firstListMs, signal, what }, async (aborted) => {
        let wake = (): void => undefined;
        const synced = new Promise<void>((resolve) => {
          wake = resolve;
        });
        entry.waiting.add(wake);
        aborted.addEventListener('abort', wake, { once: true });
        await synced;
        entry.waiting.delete(wake);
      });
    } catch (err) {
      if (isAbort(err) || signal.aborted) throw err;
      throw notSynced(kind, entry.failure);
    }
  }
}

function notSynced(kind: ObjectKind, failure: unknown): KubeletError {
  const why = failure === undefined ? 'timed out waiting for the condition' : describeError(failure);
  const message = `failed to sync ${kind.resource} cache: ${why}`;
  const { kind: errorKind, reason } =
    failure instanceof KubeletError ? failure : { kind: 'unavailable' as const, reason: 'NotSynced' };
  return new KubeletError(errorKind, reason, message);
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
