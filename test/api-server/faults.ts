// Trouble that a test orders: a server that is away, slow, busy or forgetful, watches that break.
// Invariant: orders are used in the order they were given, each as many times as it was told.
import type { Clock } from '../../src/base/clock.ts';
import { sleepWith } from '../../src/base/clock.ts';
import { ApiError, expired, type StatusDetails } from './api-error.ts';
import type { Call, Verb } from './request.ts';
import type { WatchStream } from './watch-stream.ts';

/** Which calls are meant; what is not given matches everything. */
interface CallFilter {
  readonly verb?: Verb;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

interface FailureOptions {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
  readonly details?: StatusDetails;
  /** One call unless told. */
  readonly times?: number;
  /** Before the server acts, or after it has: the answer that gets lost. */
  readonly when?: 'before' | 'after';
}

interface Order {
  readonly filter: CallFilter;
  readonly when: 'before' | 'after';
  readonly act: (signal: AbortSignal) => Promise<void>;
  left: number;
}

function matchesCall(filter: CallFilter, call: Call): boolean {
  return (
    (filter.verb ?? call.verb) === call.verb &&
    (filter.resource ?? call.type.plural) === call.type.plural &&
    (filter.subresource ?? call.subresource) === call.subresource &&
    (filter.namespace ?? call.namespace) === call.namespace &&
    (filter.name ?? call.name) === call.name
  );
}

export class Faults {
  readonly #clock: Clock;
  readonly #orders: Order[] = [];
  readonly #watches: ReadonlySet<WatchStream>;
  readonly #onAway = new Set<() => void>();
  #away = false;

  constructor(clock: Clock, watches: ReadonlySet<WatchStream>) {
    this.#clock = clock;
    this.#watches = watches;
  }

  get isAway(): boolean {
    return this.#away;
  }

  /** The server is not reachable: connections break and are refused, until back(). What it stores stays. */
  away(): void {
    this.#away = true;
    this.cutWatches();
    for (const listener of this.#onAway) listener();
  }

  back(): void {
    this.#away = false;
  }

  /** For fronts, which have connections to break. */
  onAway(listener: () => void): () => void {
    this.#onAway.add(listener);
    return () => this.#onAway.delete(listener);
  }

  /** The next such calls are answered with an error. */
  fail(filter: CallFilter, options: FailureOptions): { remove(): void } {
    const { code, reason = reasons[code] ?? 'InternalError', retryAfterSeconds } = options;
    const details = { ...options.details, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
    const error = new ApiError(code, reason, options.message ?? 'ordered by the test', details);
    return this.#add(filter, options, () => Promise.reject(error));
  }

  /** Such calls take so much longer, until removed. */
  slow(filter: CallFilter, ms: number): { remove(): void } {
    return this.#add(filter, { times: Number.POSITIVE_INFINITY }, (signal) =>
      sleepWith(this.#clock, ms, signal),
    );
  }

  /** Such calls hang until removed. */
  stall(filter: CallFilter): { remove(): void; readonly waiting: number } {
    const waiting = new Set<() => void>();
    const order = this.#add(
      filter,
      { times: Number.POSITIVE_INFINITY },
      (signal) =>
        new Promise((resolve, reject) => {
          waiting.add(resolve);
          signal.addEventListener('abort', () => {
            waiting.delete(resolve);
            reject(signal.reason as Error);
          });
        }),
    );
    return {
      remove: () => {
        order.remove();
        for (const resolve of waiting) resolve();
        waiting.clear();
      },
      get waiting() {
        return waiting.size;
      },
    };
  }

  /** Ends watches, of one resource or of all, without a word. */
  cutWatches(resource?: string): void {
    for (const watch of this.#watches) {
      if (resource === undefined || watch.type.plural === resource) watch.end();
    }
  }

  /** Tells watches that their place is gone: 410 in the middle of the stream. */
  expireWatches(resource?: string): void {
    for (const watch of this.#watches) {
      if (resource === undefined || watch.type.plural === resource)
        watch.fail(expired('too old resource version'));
    }
  }

  /** Carries out what was ordered for this call, if anything was. */
  async apply(call: Call, when: 'before' | 'after'): Promise<void> {
    const order = this.#orders.find((each) => each.when === when && matchesCall(each.filter, call));
    if (order === undefined) return;
    order.left--;
    if (order.left <= 0) this.#remove(order);
    await order.act(call.signal);
  }

  #add(
    filter: CallFilter,
    options: { readonly times?: number; readonly when?: 'before' | 'after' },
    act: Order['act'],
  ): { remove(): void } {
    const order: Order = { filter, when: options.when ?? 'before', act, left: options.times ?? 1 };
    this.#orders.push(order);
    return { remove: () => this.#remove(order) };
  }

  #remove(order: Order): void {
    const index = this.#orders.indexOf(order);
    if (index >= 0) this.#orders.splice(index, 1);
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
