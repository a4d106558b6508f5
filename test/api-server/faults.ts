// Faults injected by tests: a server that is unreachable, slow or busy, calls that fail or hang, watches that break.
// Invariant: rules apply in the order in which they were added, each for its number of times.
import type { Clock } from '../../src/base/clock.ts';
import { sleepWith } from '../../src/base/clock.ts';
import { ApiError, expired, type StatusDetails } from './api-error.ts';
import type { WatchStream } from './objects/watch-stream.ts';
import type { Call, Verb } from './request.ts';

/** Selects calls; an absent field matches every call. */
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
  /** How many calls it affects. Default: 1. */
  readonly times?: number;
  /** Before the server acts, or after it has acted and before it responds (a lost response). */
  readonly when?: 'before' | 'after';
}

interface Rule {
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
  readonly #rules: Rule[] = [];
  readonly #watches: ReadonlySet<WatchStream>;
  readonly #onDown = new Set<() => void>();
  #isDown = false;

  constructor(clock: Clock, watches: ReadonlySet<WatchStream>) {
    this.#clock = clock;
    this.#watches = watches;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  /** Makes the server unreachable until comeUp(): connections break and are refused. Its objects are kept. */
  goDown(): void {
    this.#isDown = true;
    this.cutWatches();
    for (const listener of this.#onDown) listener();
  }

  comeUp(): void {
    this.#isDown = false;
  }

  /** For fronts, which have connections to break. Returns the function that unsubscribes. */
  onDown(listener: () => void): () => void {
    this.#onDown.add(listener);
    return () => this.#onDown.delete(listener);
  }

  /** Makes the next matching calls fail. */
  fail(filter: CallFilter, options: FailureOptions): { remove(): void } {
    const { code, reason = reasons[code] ?? 'InternalError', retryAfterSeconds } = options;
    const details = { ...options.details, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
    const error = new ApiError(code, reason, options.message ?? 'injected by the test', details);
    return this.#add(filter, options, () => Promise.reject(error));
  }

  /** Delays matching calls until removed. */
  slow(filter: CallFilter, ms: number): { remove(): void } {
    return this.#add(filter, { times: Number.POSITIVE_INFINITY }, (signal) =>
      sleepWith(this.#clock, ms, signal),
    );
  }

  /** Makes matching calls hang until removed. */
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

  /** Closes the watches of one resource or of all, without an error event. */
  cutWatches(resource?: string): void {
    for (const watch of this.#watches) {
      if (resource === undefined || watch.type.plural === resource) watch.end();
    }
  }

  /** Sends a 410 in the middle of the watches: their resource version has expired. */
  expireWatches(resource?: string): void {
    for (const watch of this.#watches) {
      if (resource === undefined || watch.type.plural === resource)
        watch.fail(expired('too old resource version'));
    }
  }

  /** Applies the rules that match this call. */
  async apply(call: Call, when: 'before' | 'after'): Promise<void> {
    const order = this.#rules.find((each) => each.when === when && matchesCall(each.filter, call));
    if (order === undefined) return;
    order.left--;
    if (order.left <= 0) this.#remove(order);
    await order.act(call.signal);
  }

  #add(
    filter: CallFilter,
    options: { readonly times?: number; readonly when?: 'before' | 'after' },
    act: Rule['act'],
  ): { remove(): void } {
    const order: Rule = { filter, when: options.when ?? 'before', act, left: options.times ?? 1 };
    this.#rules.push(order);
    return { remove: () => this.#remove(order) };
  }

  #remove(order: Rule): void {
    const index = this.#rules.indexOf(order);
    if (index >= 0) this.#rules.splice(index, 1);
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
