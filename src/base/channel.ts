// Announces keys from the one writer of a store to its readers, synchronously. Events carry keys, never state.
// Invariants: push() reaches every listener that was subscribed when it began and has not unsubscribed since, in order of
// subscription, even if others throw; a listener subscribed during a push receives the next one. A push from inside a
// listener is delivered before the outer push continues.
import { reportUncaught } from './log/report-uncaught.ts';

interface Subscription<T> {
  readonly listener: (value: T) => void;
  active: boolean;
}

interface ChannelOptions {
  /** Receives the error of a listener. Default: an uncaught exception after the push, so that a bug is not hidden. */
  readonly onError?: (err: unknown) => void;
}

/** The reading side of a channel. */
export interface Subscribable<T> {
  /** Returns the unsubscribe function, which may be called at any time and more than once. */
  subscribe(listener: (value: T) => void): () => void;
}

/** Several channels read as one; `sources` are named by docs/wiring.md in its place. */
interface MergedChannels<T> extends Subscribable<T> {
  readonly sources: readonly Subscribable<T>[];
}

export function mergeChannels<T>(...sources: readonly Subscribable<T>[]): MergedChannels<T> {
  return {
    sources,
    subscribe: (listener) => {
      const ends = sources.map((source) => source.subscribe(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

export class Channel<T> implements Subscribable<T> {
  readonly #onError: (err: unknown) => void;
  // Replaced, never mutated, so that a push in progress keeps its list.
  #subscriptions: readonly Subscription<T>[] = [];

  constructor(options: ChannelOptions = {}) {
    this.#onError = options.onError ?? reportUncaught;
  }

  push(value: T): void {
    for (const subscription of this.#subscriptions) {
      if (!subscription.active) continue;
      try {
        subscription.listener(value);
      } catch (err) {
        this.#onError(err);
      }
    }
  }

  subscribe(listener: (value: T) => void): () => void {
    const subscription: Subscription<T> = { listener, active: true };
    this.#subscriptions = [...this.#subscriptions, subscription];
    return () => {
      if (!subscription.active) return;
      subscription.active = false;
      this.#subscriptions = this.#subscriptions.filter((each) => each !== subscription);
    };
  }
}
