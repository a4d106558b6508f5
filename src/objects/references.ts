// Counts the references of owners to objects. Invariant: `first` and `last` alternate per object, starting with `first`;
// updating an owner never drops an object that it still refers to.

interface ReferencesOptions {
  /** Called on the first reference to an object. */
  first(namespace: string, name: string): void;
  /** Called when the last reference is removed. */
  last(namespace: string, name: string): void;
}

interface Owner {
  readonly namespace: string;
  readonly names: ReadonlySet<string>;
}

export class References {
  readonly #options: ReferencesOptions;
  readonly #owners = new Map<string, Owner>();
  readonly #counts = new Map<string, number>();

  constructor(options: ReferencesOptions) {
    this.#options = options;
  }

  set(owner: string, namespace: string, names: readonly string[]): void {
    const before = this.#owners.get(owner);
    const now: Owner = { namespace, names: new Set(names) };
    this.#owners.set(owner, now);
    for (const name of now.names) this.#count(namespace, name, 1);
    for (const name of before?.names ?? []) this.#count(before?.namespace ?? '', name, -1);
  }

  delete(owner: string): void {
    const before = this.#owners.get(owner);
    this.#owners.delete(owner);
    for (const name of before?.names ?? []) this.#count(before?.namespace ?? '', name, -1);
  }

  #count(namespace: string, name: string, by: 1 | -1): void {
    const key = `${namespace}/${name}`;
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
    if (count === 1 && by === 1) this.#options.first(namespace, name);
    if (count === 0) this.#options.last(namespace, name);
  }
}
