// Fetches objects each time they are needed (strategy Get). Upstream: the simple managers of pkg/kubelet/{secret,configmap}.
import { untilAborted } from '../base/abort/race-abort.ts';
import type { ObjectStrategy } from './strategy.ts';

export class FetchedObjects<T> implements ObjectStrategy<T> {
  readonly #get: ObjectStrategy<T>['get'];

  constructor(get: ObjectStrategy<T>['get']) {
    this.#get = get;
  }

  register(): void {
    // Nothing is cached, so no references are needed.
  }

  unregister(): void {
    // As above.
  }

  get(namespace: string, name: string, signal: AbortSignal): Promise<T> {
    return this.#get(namespace, name, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
  }
}
