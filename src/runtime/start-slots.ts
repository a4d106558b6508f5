// How many pods start at once on a node: docs/decisions/0008-how-many-pods-start-at-once.md.
import type { Clock } from '../base/clock.ts';
import { Slots } from '../base/slots.ts';

/** A start that hangs for this long no longer prevents other pods from starting. */
const startLeaseMs = 10_000;

/**
 * Pods in the start phase per CPU. A start alternates between CPU work in the runtime and waiting for the kernel, the disk and
 * CNI. Two per CPU keep every CPU busy as long as a start waits for at most half of its time; more would only delay the first
 * pods of a burst, since pods that start together share the CPUs and finish together.
 */
const startsPerCpu = 2;

/** The number of pods that start at once on a machine with this many CPUs. */
export function startSlotCount(cpus: number): number {
  return startsPerCpu * Math.max(1, cpus);
}

export function startSlots(clock: Clock, cpus: number): Slots {
  return new Slots({ clock, count: startSlotCount(cpus), leaseMs: startLeaseMs });
}
