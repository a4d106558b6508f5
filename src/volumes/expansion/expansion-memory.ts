// What this process remembers of the persistent volumes it has expanded or failed to expand.
// Upstream: persistentVolumeSize, volumeInUseErrorForExpansion and volumesWithFinalExpansionErrors of the actual state of world,
// goroutinemap/exponentialbackoff. Invariant: bounded; what is forgotten costs a repeated attempt at most.
import { LRUCache } from 'lru-cache';
import type { Quantity } from '../../api/quantity/quantity.ts';
import type { Clock } from '../../base/clock.ts';

interface Remembered {
  /** The size that the volume has on this node. */
  readonly knownSize: Quantity;
  /** Whether an attempt certainly failed since the last success. */
  readonly hasFailed: boolean;
  /** The volume cannot be expanded to this size while it is used here. */
  readonly refusedSize: Quantity | undefined;
  readonly failures: number;
  readonly retryAtMs: number;
}

const firstRetryMs = 500;
const maxRetryMs = 122_000;
const rememberedVolumes = 4_096;

export class ExpansionMemory {
  readonly #clock: Clock;
  /** By name of the persistent volume. */
  readonly #volumes = new LRUCache<string, Remembered>({ max: rememberedVolumes });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string): Pick<Remembered, 'knownSize' | 'hasFailed' | 'refusedSize'> | undefined {
    return this.#volumes.peek(name);
  }

  /** Starts with the size of the claim. `isFirst`: no pod uses the volume here, so that what is known of its size may be stale. */
  begin(name: string, claimSize: Quantity, isFirst: boolean): void {
    const known = this.#volumes.get(name);
    if (known !== undefined && !isFirst) return;
    const hasFailed = known?.hasFailed === true;
    this.#volumes.set(name, {
      knownSize: claimSize,
      hasFailed,
      refusedSize: undefined,
      failures: 0,
      retryAtMs: 0,
    });
  }

  hasSize(name: string, knownSize: Quantity): void {
    this.#update(name, { knownSize, refusedSize: undefined, failures: 0, retryAtMs: 0 });
  }

  // differs from upstream: a success ends what earlier failures mean for the next expansion.
  expanded(name: string, size: Quantity): void {
    this.hasSize(name, size);
    this.#update(name, { hasFailed: false });
  }

  failedForSure(name: string): void {
    this.#update(name, { hasFailed: true });
  }

  refuses(name: string, refusedSize: Quantity): void {
    this.#update(name, { refusedSize, failures: 0, retryAtMs: 0 });
  }

  isBackingOff(name: string): boolean {
    return this.#clock.monotonic() < (this.#volumes.peek(name)?.retryAtMs ?? 0);
  }

  /** Returns the delay until the next attempt. */
  backOff(name: string): number {
    const failures = (this.#volumes.peek(name)?.failures ?? 0) + 1;
    const delayMs = Math.min(firstRetryMs * 2 ** (failures - 1), maxRetryMs);
    this.#update(name, { failures, retryAtMs: this.#clock.monotonic() + delayMs });
    return delayMs;
  }

  #update(name: string, changed: Partial<Remembered>): void {
    const known = this.#volumes.get(name);
    if (known !== undefined) this.#volumes.set(name, { ...known, ...changed });
  }
}
