// Containers whose start was cut off and that the runtime refuses to remove: told once, asked again once in a while.
// Invariants: bounded; one that was removed is forgotten.
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbort, isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';

/** How long a refusal holds; upstream looks for garbage as often. */
export const refusalHoldsMs = 60_000;

const most = 1_000;

/** The runtime was there, and said no. */
export function isRefusal(err: unknown): boolean {
  return !isAbort(err) && !isKind(err, 'unavailable') && !isKind(err, 'timeout');
}

export class RefusedRemovals {
  readonly #deps: { readonly clock: Clock; readonly log: Logger };
  /** By ID: when it was last refused; the oldest first. */
  readonly #atMs = new Map<string, number>();

  constructor(deps: { readonly clock: Clock; readonly log: Logger }) {
    this.#deps = deps;
  }

  note(id: string, err: unknown): void {
    const { clock, log } = this.#deps;
    const message =
      'The runtime refuses to remove a container whose start was cut off; others are made beside it';
    if (!this.#atMs.delete(id)) {
      log.warn(message, { containerID: id, err: describeError(err), askedAgainAfterMs: refusalHoldsMs });
    }
    this.#atMs.set(id, clock.monotonic());
    const [oldest] = this.#atMs.keys();
    if (this.#atMs.size > most && oldest !== undefined) this.#atMs.delete(oldest);
  }

  forget(id: string): void {
    this.#atMs.delete(id);
  }

  /** Whether it need not be asked for yet. */
  holds(id: string): boolean {
    const atMs = this.#atMs.get(id);
    return atMs !== undefined && this.#deps.clock.monotonic() - atMs < refusalHoldsMs;
  }
}
