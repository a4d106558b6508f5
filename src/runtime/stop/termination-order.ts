// In which order the containers of a pod that ends are told to: sidecars after all regular containers, and among themselves
// in the reverse of the order in which they started. Upstream: kuberuntime_termination_order.go.
// Invariant: nobody waits longer than its grace period; what does not run is waited for by nobody.
import type { Pod } from '../../api/k8s/types.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import type { Clock } from '../../base/clock.ts';

export class TerminationOrder {
  readonly #clock: Clock;
  /** By sidecar: the containers that have to have ended before it is told to. */
  readonly #before: ReadonlyMap<string, readonly string[]>;
  readonly #running: Set<string>;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock, pod: Pod | undefined, running: readonly string[]) {
    this.#clock = clock;
    this.#before = sidecarsAfter(pod);
    this.#running = new Set(running);
  }

  ended(name: string): void {
    this.#running.delete(name);
    for (const look of this.#waiting) look();
  }

  /** Resolves when it is this container's turn, or after `withinMs`. */
  async turn(name: string, withinMs: number, signal: AbortSignal): Promise<void> {
    const before = this.#before.get(name) ?? [];
    const isTurn = (): boolean => !before.some((each) => this.#running.has(each));
    if (isTurn() || withinMs <= 0) return;
    const wait = new AbortController();
    const look = (): void => {
      if (isTurn()) wait.abort();
    };
    this.#waiting.add(look);
    try {
      await this.#clock.sleep(withinMs, AbortSignal.any([signal, wait.signal]));
    } catch (err) {
      if (!wait.signal.aborted) throw err;
    } finally {
      this.#waiting.delete(look);
    }
    signal.throwIfAborted();
  }
}

function sidecarsAfter(pod: Pod | undefined): ReadonlyMap<string, readonly string[]> {
  const apps = (pod?.spec?.containers ?? []).map(({ name }) => name);
  const sidecars = (pod?.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  return new Map(
    sidecars.map((name, index) => [name, [...apps, ...sidecars.slice(index + 1, index + 2)]] as const),
  );
}
