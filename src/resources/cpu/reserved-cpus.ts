// The CPUs that the static policy leaves to the system and the kubelet. Pure. A wrong configuration keeps the kubelet from starting.
// Upstream: NewManager and NewStaticPolicy in pkg/kubelet/cm/cpumanager.
import type { Quantity } from '../../api/quantity/quantity.ts';
import { KubeletError } from '../../base/errors.ts';
import { CpuSet } from './cpu-set.ts';

export interface CpuReservation {
  /** systemReserved and kubeReserved together; undefined if neither has CPUs. */
  readonly amount: Quantity | undefined;
  /** reservedSystemCPUs; empty if not set. */
  readonly cpus: CpuSet;
}

/** `take` chooses CPUs from all of the machine. */
export function computeReservedCpus(
  { amount, cpus }: CpuReservation,
  machine: CpuSet,
  take: (count: number) => CpuSet,
): CpuSet {
  if (amount === undefined)
    throw invalid('[cpumanager] unable to determine reserved CPU resources for static policy');
  if (amount.isZero())
    throw invalid(
      '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero',
    );
  // Part of a CPU cannot be exclusive.
  const count = Number((amount.milliValue() + 999n) / 1000n);
  const reserved = cpus.isEmpty ? takeOrNone(take, count) : cpus;
  if (reserved.size !== count)
    throw invalid(
      `new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of ${reserved} did not equal ${count})`,
    );
  const unknown = reserved.difference(machine).ids[0];
  if (unknown !== undefined)
    throw invalid(
      `new static policy error: [cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: ${unknown}`,
    );
  return reserved;
}

function takeOrNone(take: (count: number) => CpuSet, count: number): CpuSet {
  try {
    return take(count);
  } catch {
    return CpuSet.empty;
  }
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'InvalidCpuReservation', message);
}
