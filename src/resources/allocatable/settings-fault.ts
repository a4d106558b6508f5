// Decides why a kubelet with these settings could not start on this machine: the checks of NodeChecks and of the memory manager,
// without a start. For settings that change while the kubelet runs. Pure. Upstream has no counterpart.
import type { MachineTopology } from '../../api/ports/machine-topology.ts';
import { describeError } from '../../base/errors.ts';
import { initialMachineState, type MemoryReservation } from '../memory/memory-machine.ts';
import { type MachineCapacity, reservationFault } from './node-allocatable.ts';
import { type BudgetConfig, type BudgetFlags, NodeBudget } from './node-budget.ts';

interface SettingsConfig extends BudgetConfig {
  readonly memoryManagerPolicy: string;
  readonly reservedMemory: readonly MemoryReservation[];
}

interface Machine {
  readonly capacity: MachineCapacity;
  readonly topology: Pick<MachineTopology, 'nodes'>;
}

/** Undefined if the machine can hold them. */
export function settingsFault(
  config: SettingsConfig,
  flags: BudgetFlags,
  { capacity, topology }: Machine,
): string | undefined {
  const budget = new NodeBudget(capacity, config, flags);
  const fault = reservationFault(budget.capacity(), budget.reservation());
  if (fault !== undefined || config.memoryManagerPolicy !== 'Static') return fault;
  try {
    initialMachineState(topology, budget.reservation(), config.reservedMemory);
    return undefined;
  } catch (err) {
    return describeError(err);
  }
}
