// The collections that are kept as a whole: the Node object, Services, RuntimeClasses and CSIDrivers. Owned by KeptState.
// Invariant: each is written twice, since no pod starts without them, so that one damaged record does not keep all pods down.
import type { KubeObject } from '../api/ports/api-client.ts';
import type { WatchedCollection } from './kept-kinds.ts';
import { byId, computeWrittenMembers, idOfMember } from './kept-members.ts';
import { collectionKinds } from './load-records.ts';
import type { RecordWriter } from './record-writer.ts';

interface KeptCollectionsDeps {
  readonly writer: Pick<RecordWriter, 'put'>;
  /** Of the pods that may still start. */
  readonly namespaces: () => ReadonlySet<string>;
}

/** Changes within these times are written once. */
const waitMs: Readonly<Record<WatchedCollection, number>> = {
  nodes: 500,
  runtimeclasses: 5_000,
  csidrivers: 5_000,
  // They may be many, and are written as one.
  services: 30_000,
};
const soonMs = 500;

export class KeptCollections {
  readonly #deps: KeptCollectionsDeps;
  readonly #collections = new Map<WatchedCollection, Map<string, KubeObject>>();
  /** The namespaces whose Services were written last. */
  #servicesOf: ReadonlySet<string> = new Set();

  constructor(deps: KeptCollectionsDeps) {
    this.#deps = deps;
  }

  /** From disk. */
  load(name: WatchedCollection, objects: readonly KubeObject[]): void {
    this.#collections.set(name, byId(objects));
  }

  /** Undefined if it is not kept. */
  members(name: WatchedCollection): readonly KubeObject[] | undefined {
    const members = this.#collections.get(name);
    return members && [...members.values()];
  }

  /** Without any one of them no pod starts, so the first list is written soon. */
  replace(name: WatchedCollection, objects: readonly KubeObject[]): void {
    this.#collections.set(name, byId(objects));
    this.#put(name, soonMs);
  }

  upsert(name: WatchedCollection, object: KubeObject): void {
    this.#membersOf(name).set(idOfMember(object), object);
    this.#put(name, waitMs[name]);
  }

  remove(name: WatchedCollection, object: KubeObject): void {
    this.#membersOf(name).delete(idOfMember(object));
    this.#put(name, waitMs[name]);
  }

  /** A pod of this namespace may start, with the Services of its namespace. */
  namespaceUsed(namespace: string): void {
    if (!this.#servicesOf.has(namespace)) this.#putServices();
  }

  /** Some namespaces may have no pods any more. */
  namespacesReleased(): void {
    const namespaces = this.#deps.namespaces();
    if ([...this.#servicesOf].some((each) => !namespaces.has(each))) this.#putServices();
  }

  /** Before the first list there are none to write. */
  #putServices(): void {
    if (this.#collections.has('services')) this.#put('services', soonMs);
  }

  #membersOf(name: WatchedCollection): Map<string, KubeObject> {
    const members = this.#collections.get(name) ?? new Map<string, KubeObject>();
    this.#collections.set(name, members);
    return members;
  }

  #put(name: WatchedCollection, inMs: number): void {
    let written: string | undefined;
    const text = (): string => (written ??= JSON.stringify(this.#writtenMembers(name)));
    for (const kind of collectionKinds) this.#deps.writer.put(kind, name, text, inMs);
  }

  #writtenMembers(name: WatchedCollection): readonly KubeObject[] {
    const namespaces = this.#deps.namespaces();
    if (name === 'services') this.#servicesOf = namespaces;
    return computeWrittenMembers(name, this.members(name) ?? [], namespaces);
  }
}
