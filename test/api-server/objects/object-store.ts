// The role of etcd and the watch cache: objects with one revision counter, a history to watch from, and compaction,
// after which older revisions have expired. Upstream: apiserver/pkg/storage.
// Invariants: objects are never changed in place; revisions only grow; a listener receives every write in order.
import { expired } from '../api-error.ts';
import type { ResourceType } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

export interface Change {
  readonly revision: number;
  readonly type: ResourceType;
  readonly key: string;
  /** The previous state; undefined for a creation. */
  readonly before: StoredObject | undefined;
  /** The new state; undefined for a removal. */
  readonly after: StoredObject | undefined;
  /** The new state; for a removal the last state, with the revision of the removal. */
  readonly last: StoredObject;
}

export class ObjectStore {
  readonly #objects = new Map<string, StoredObject>();
  #history: Change[] = [];
  readonly #listeners = new Set<(change: Change) => void>();
  #revision = 100;
  #compactedTo = 0;

  get revision(): number {
    return this.#revision;
  }

  get compactedTo(): number {
    return this.#compactedTo;
  }

  get(type: ResourceType, namespace: string, name: string): StoredObject | undefined {
    return this.#objects.get(keyOf(type, namespace, name));
  }

  /** All objects of a resource in one namespace, or in all for '', sorted by namespace and name. */
  list(type: ResourceType, namespace = ''): readonly StoredObject[] {
    return this.#under(this.#objects, type, namespace);
  }

  /** Like list(), at an earlier revision. */
  listAt(type: ResourceType, namespace: string, revision: number): readonly StoredObject[] {
    const then = new Map(this.#objects);
    for (const change of this.changesSince(revision).toReversed()) {
      if (change.before === undefined) then.delete(change.key);
      else then.set(change.key, change.before);
    }
    return this.#under(then, type, namespace);
  }

  put(type: ResourceType, object: StoredObject): StoredObject {
    const key = keyOf(type, object.metadata.namespace ?? '', object.metadata.name ?? '');
    const after = this.#stamped(object);
    const before = this.#objects.get(key);
    this.#objects.set(key, after);
    this.#record({ revision: this.#revision, type, key, before, after, last: after });
    return after;
  }

  remove(type: ResourceType, namespace: string, name: string): StoredObject | undefined {
    const key = keyOf(type, namespace, name);
    const before = this.#objects.get(key);
    if (before === undefined) return undefined;
    this.#objects.delete(key);
    const last = this.#stamped(before);
    this.#record({ revision: this.#revision, type, key, before, after: undefined, last });
    return last;
  }

  /** All changes after the revision. Throws Expired if they have been compacted. */
  changesSince(revision: number): readonly Change[] {
    if (revision < this.#compactedTo) {
      throw expired(`too old resource version: ${revision} (${this.#compactedTo})`);
    }
    return this.#history.filter((change) => change.revision > revision);
  }

  /** Drops the history, as a server does after some minutes or at a restart. */
  compact(): void {
    this.#compactedTo = this.#revision;
    this.#history = [];
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #under(objects: ReadonlyMap<string, StoredObject>, type: ResourceType, namespace: string): StoredObject[] {
    const prefix = namespace === '' ? `${type.group}/${type.plural}/` : keyOf(type, namespace, '');
    return [...objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  #stamped(object: StoredObject): StoredObject {
    this.#revision++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #record(change: Change): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

function keyOf(type: ResourceType, namespace: string, name: string): string {
  return `${type.group}/${type.plural}/${namespace}/${name}`;
}
