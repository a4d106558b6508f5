// The node's pressure conditions. Owns Pressure (sole writer: the eviction manager).
// Invariant: the store is updated before the change is announced.
import type { PressureCondition, PressureView } from '../api/ports/pressure.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export class Pressure implements Store, PressureView {
  readonly storeName = 'Pressure';
  readonly writer = 'eviction';
  readonly changed = new Channel<void>();
  #conditions: readonly PressureCondition[] = [];

  conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  set(conditions: readonly PressureCondition[]): void {
    if (conditions.join() === this.#conditions.join()) return;
    this.#conditions = conditions;
    this.changed.push();
  }
}
