// A complete, small collection that every node may list: Services, RuntimeClasses, trust bundles.
// Sole writer: the watch. Upstream: the informers of pkg/kubelet/kubelet.go.
import type { KubeObject, WatchSink } from '../api/ports/api-client.ts';
import { raceAbort } from '../base/abort/race-abort.ts';

export class ListedObjects<T extends KubeObject> implements WatchSink<T> {
  readonly #objects = new Map<string, T>();
  #markSynced: () => void = () => undefined;
  readonly #synced = new Promise<void>((resolve) => {
    this.#markSynced = resolve;
  });

  /** Waits for the first list. */
  async all(signal: AbortSignal): Promise<readonly T[]> {
    await raceAbort(this.#synced, signal);
    return [...this.#objects.values()];
  }

  async get(name: string, signal: AbortSignal): Promise<T | undefined> {
    await raceAbort(this.#synced, signal);
    return this.#objects.get(keyOf('', name));
  }

  replace(objects: readonly T[]): void {
    this.#objects.clear();
    for (const object of objects) this.upsert(object);
    this.#markSynced();
  }

  upsert(object: T): void {
    this.#objects.set(keyOf(object.metadata?.namespace ?? '', object.metadata?.name ?? ''), object);
  }

  remove(object: T): void {
    this.#objects.delete(keyOf(object.metadata?.namespace ?? '', object.metadata?.name ?? ''));
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
