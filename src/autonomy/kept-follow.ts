// The watches of the API server as the features see them with --autonomy: records what they deliver, and delivers what was kept if
// the first list does not arrive while the API server cannot be reached.
// Invariants: what was kept is delivered at most once, before the first list and never after it; the first list then replaces it.
import type { Follow, KubeObject, WatchSink, WatchTarget } from '../api/ports/api-client.ts';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import type { ControlPlane } from './control-plane.ts';
import { collectionOf, type KeptCollection, type ObjectRef, watchedObject } from './kept-kinds.ts';
import type { KeptState } from './kept-state.ts';
import { notKept } from './not-kept.ts';

interface KeptFollowDeps {
  readonly plane: ControlPlane;
  readonly kept: Pick<
    KeptState,
    | 'collection'
    | 'hasListed'
    | 'object'
    | 'record'
    | 'recordAbsent'
    | 'replaceCollection'
    | 'upsertInto'
    | 'removeFrom'
  >;
  readonly keepSecrets: boolean;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** The kept pods were delivered, or replaced by the first list. */
  readonly serving: { begin(pods: number): void; end(): void };
}

/**
 * How long a first list may take if other requests are answered: a server without its storage answers some. Once it has listed the
 * pods it is only slow, and what it has not answered yet is awaited.
 */
const firstListMs = 3_000;

export function keptFollow(follow: Follow, deps: KeptFollowDeps): Follow {
  return async <T extends KubeObject>(target: WatchTarget, sink: WatchSink<T>, signal: AbortSignal) => {
    const source = sourceOf<T>(target, sink, deps);
    if (source === undefined) {
      await follow(target, observedSink(sink, deps), signal);
      return;
    }
    const watch = new KeptWatch(source, sink, deps, signal);
    watch.begin();
    await follow(target, watch, signal).finally(() => watch.end());
  };
}

/** By its methods: a sink may be an instance of a class, whose methods are not its own properties. */
function observedSink<T extends KubeObject>(sink: WatchSink<T>, deps: KeptFollowDeps): WatchSink<T> {
  return {
    replace: (objects) => sink.replace(objects),
    upsert: (object) => sink.upsert(object),
    remove: (object) => sink.remove(object),
    failed: (err) => failed(sink, err, deps),
  };
}

function failed<T>(sink: WatchSink<T>, err: unknown, { plane }: KeptFollowDeps): void {
  plane.failed(err);
  sink.failed?.(err);
}

/** One followed collection or object: where it is recorded, and how the kept one is delivered. */
interface Source<T> {
  replace(objects: readonly T[]): void;
  upsert(object: T): void;
  remove(object: T): void;
  /** Delivers what was kept unless `isLate`; false if nothing is kept. */
  deliver(isLate: () => boolean): Promise<boolean>;
}

function sourceOf<T extends KubeObject>(
  target: WatchTarget,
  sink: WatchSink<T>,
  deps: KeptFollowDeps,
): Source<T> | undefined {
  const name = collectionOf(target.path);
  if (name !== undefined) return collectionSource(name, sink, deps);
  const ref = watchedObject(target.path, target.fieldSelector);
  return ref && objectSource(ref, sink, deps);
}

function collectionSource<T extends KubeObject>(
  name: KeptCollection,
  sink: WatchSink<T>,
  { kept, serving }: KeptFollowDeps,
): Source<T> {
  return {
    replace: (objects) => {
      kept.replaceCollection(name, objects);
      sink.replace(objects);
      if (name === 'pods') serving.end();
    },
    upsert: (object) => {
      kept.upsertInto(name, object);
      sink.upsert(object);
    },
    remove: (object) => {
      kept.removeFrom(name, object);
      sink.remove(object);
    },
    deliver: async (isLate) => {
      const objects = kept.collection(name) as readonly T[] | undefined;
      if (objects === undefined || isLate()) return objects !== undefined;
      if (name === 'pods') serving.begin(objects.length);
      if (sink.provisional === undefined) sink.replace(objects);
      else sink.provisional(objects);
      return true;
    },
  };
}

function objectSource<T extends KubeObject>(
  ref: ObjectRef,
  sink: WatchSink<T>,
  { keepSecrets, kept, plane }: KeptFollowDeps,
): Source<T> {
  return {
    replace: (objects) => {
      const [object] = objects;
      if (object === undefined) kept.recordAbsent(ref);
      else kept.record(ref, object);
      sink.replace(objects);
    },
    upsert: (object) => {
      kept.record(ref, object);
      sink.upsert(object);
    },
    remove: (object) => {
      kept.recordAbsent(ref);
      sink.remove(object);
    },
    deliver: async (isLate) => {
      const found = await kept.object(ref);
      if (isLate()) return true;
      if (found === 'unkept') {
        sink.failed?.(notKept(ref, { keepSecrets, failure: plane.lastFailure() }));
        return false;
      }
      sink.replace(found === 'absent' ? [] : [stillWatched(found.object as T)]);
      return true;
    },
  };
}

/** An immutable object is not watched; this one may have been replaced by another of its name. */
function stillWatched<T extends KubeObject>(object: T): T {
  return 'immutable' in object ? { ...object, immutable: false } : object;
}

class KeptWatch<T extends KubeObject> implements WatchSink<T> {
  readonly #source: Source<T>;
  readonly #sink: WatchSink<T>;
  readonly #deps: KeptFollowDeps;
  readonly #signal: AbortSignal;
  #isListed = false;
  #isDelivered = false;
  /** The last failure was a refusal: the server knows the node, and keeps the list from it. */
  #isRefused = false;
  #isOverdue = false;
  #end: () => void = () => undefined;

  constructor(source: Source<T>, sink: WatchSink<T>, deps: KeptFollowDeps, signal: AbortSignal) {
    this.#source = source;
    this.#sink = sink;
    this.#deps = deps;
    this.#signal = signal;
  }

  begin(): void {
    const { clock, plane } = this.#deps;
    const timer = clock.setTimer(firstListMs, () => {
      this.#isOverdue = true;
      this.#deliverIfDue();
    });
    const unsubscribe = plane.changed.subscribe(() => this.#deliverIfDue());
    this.#end = () => {
      timer.cancel();
      unsubscribe();
    };
    this.#deliverIfDue();
  }

  end(): void {
    this.#end();
  }

  replace(objects: readonly T[]): void {
    this.#answered();
    this.#isListed = true;
    this.#end();
    this.#source.replace(objects);
  }

  upsert(object: T): void {
    this.#answered();
    this.#source.upsert(object);
  }

  remove(object: T): void {
    this.#answered();
    this.#source.remove(object);
  }

  failed(err: unknown): void {
    this.#isRefused = err instanceof KubeletError && err.details['code'] === 403;
    failed(this.#sink, err, this.#deps);
    this.#deliverIfDue();
  }

  #answered(): void {
    this.#deps.plane.succeeded();
  }

  #deliverIfDue(): void {
    const { kept, plane } = this.#deps;
    if (!plane.isUnreachable() && (!this.#isOverdue || kept.hasListed())) return;
    if (this.#isListed || this.#isDelivered || this.#isRefused) return;
    this.#isDelivered = true;
    void this.#deliver();
  }

  async #deliver(): Promise<void> {
    const isLate = (): boolean => this.#isListed || this.#signal.aborted;
    // A later failure reports again what is missing, instead of what the connection failed with.
    this.#isDelivered = await this.#source.deliver(isLate).catch((err: unknown) => {
      if (!isLate()) this.#sink.failed?.(err);
      return false;
    });
  }
}
