// The order in which the containers of a terminating pod are stopped: sidecars after all regular containers, and among themselves
// in the reverse order of their start. Upstream: kuberuntime_termination_order.go.
// Invariant: no container waits longer than its grace period, or for a container that does not run.
import type { Pod } from '../../api/k8s/types.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import type { Clock } from '../../base/clock.ts';

export class TerminationOrder {
  readonly #clock: Clock;
  /** By sidecar: the containers that have to be stopped before it. */
  readonly #before: ReadonlyMap<string, readonly string[]>;
  readonly #running: Set<string>;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock, pod: Pod | undefined, running: readonly string[]) {
    this.#clock = clock;
    this.#before = sidecarsAfter(pod);
    this.#running = new Set(running);
  }

  stopped(name: string): void {
    this.#running.delete(name);
    for (const check of this.#waiting) check();
  }

  /** Resolves when it is this container's turn, or after `withinMs`. */
  async waitForTurn(name: string, withinMs: number, signal: AbortSignal): Promise<void> {
    const before = this.#before.get(name) ?? [];
    const isTurn = (): boolean => !before.some((each) => this.#running.has(each));
    if (isTurn() || withinMs <= 0) return;
    const wait = new AbortController();
    const check = (): void => {
      if (isTurn()) wait.abort();
    };
    this.#waiting.add(check);
    try {
      await this.#clock.sleep(withinMs, AbortSignal.any([signal, wait.signal]));
    } catch (err) {
      if (!wait.signal.aborted) throw err;
    } finally {
      this.#waiting.delete(check);
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
