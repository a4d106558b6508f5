// Containers with an interrupted start that the runtime refuses to remove: logged once, retried periodically.
// Invariants: bounded; a removed container is forgotten.
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbort, isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';

/** Pause between two attempts; upstream collects garbage as often. */
export const removalRetryMs = 60_000;

const maxEntries = 1_000;

/** The runtime answered and refused the call. */
export function isRefusal(err: unknown): boolean {
  return !isAbort(err) && !isKind(err, 'unavailable') && !isKind(err, 'timeout');
}

export class RefusedRemovals {
  readonly #deps: { readonly clock: Clock; readonly log: Logger };
  /** Time of the last refusal by container ID, oldest first. */
  readonly #atMs = new Map<string, number>();

  constructor(deps: { readonly clock: Clock; readonly log: Logger }) {
    this.#deps = deps;
  }

  record(id: string, err: unknown): void {
    const { clock, log } = this.#deps;
    if (!this.#atMs.delete(id)) {
      const fields = { containerID: id, err: describeError(err), retryAfterMs: removalRetryMs };
      log.warn('Runtime refuses to remove a container whose start was interrupted', fields);
    }
    this.#atMs.set(id, clock.monotonic());
    const [oldest] = this.#atMs.keys();
    if (this.#atMs.size > maxEntries && oldest !== undefined) this.#atMs.delete(oldest);
  }

  forget(id: string): void {
    this.#atMs.delete(id);
  }

  /** Whether the next attempt is not due yet. */
  isBackingOff(id: string): boolean {
    const atMs = this.#atMs.get(id);
    return atMs !== undefined && this.#deps.clock.monotonic() - atMs < removalRetryMs;
  }
}
