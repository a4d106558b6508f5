// How many pods start at once on a node: docs/decisions/0008-how-many-pods-start-at-once.md.
import type { Clock } from '../base/clock.ts';
import { Slots } from '../base/slots.ts';

/** A start that hangs for this long no longer prevents other pods from starting. */
const startLeaseMs = 10_000;

/** The number of pods that start at once on a machine with this many CPUs. */
export function startSlotCount(cpus: number): number {
  return cpus * 2 + 1;
}

export function startSlots(clock: Clock, cpus: number): Slots {
  return new Slots({ clock, count: startSlotCount(cpus), leaseMs: startLeaseMs });
}
