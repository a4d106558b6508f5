// What a machine has, and what of it the configuration keeps from pods. Pure. Upstream: cadvisor's CapacityFromMachineInfo,
// pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableReservation, hardEvictionReservation).
import { Quantity } from '../api/quantity.ts';
import { amountOf, parseAmounts, type ResourceAmounts } from '../api/resource-amounts.ts';
import type { NodeResources } from './node-facts.ts';

export interface MachineCapacity {
  readonly cores: number;
  readonly memoryBytes: bigint;
  readonly storageBytes: bigint;
  readonly hugePages: readonly { readonly pageBytes: bigint; readonly count: bigint }[];
}

export interface Reservations {
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly ignoreEviction: boolean;
}

/** Which threshold is kept free of which resource. */
const thresholds = { memory: 'memory.available', 'ephemeral-storage': 'nodefs.available' } as const;
const reservable = ['cpu', 'memory', 'ephemeral-storage'] as const;

export function machineResources(machine: MachineCapacity, reserved: Reservations): NodeResources {
  const capacity = capacityOf(machine);
  return { capacity: () => capacity, reservation: () => reservationOf(capacity, reserved) };
}

function capacityOf({ cores, hugePages, memoryBytes, storageBytes }: MachineCapacity): ResourceAmounts {
  return new Map([
    ['cpu', Quantity.of(cores)],
    ['ephemeral-storage', Quantity.of(storageBytes, 'BinarySI')],
    ...hugePages.map(({ pageBytes, count }): [string, Quantity] => [
      `hugepages-${Quantity.of(pageBytes, 'BinarySI')}`,
      Quantity.of(pageBytes * count, 'BinarySI'),
    ]),
    ['memory', Quantity.of(memoryBytes, 'BinarySI')],
  ]);
}

function reservationOf(capacity: ResourceAmounts, reserved: Reservations): ResourceAmounts {
  const [kube, system] = [parseAmounts(reserved.kubeReserved), parseAmounts(reserved.systemReserved)];
  const amounts = reservable.map((name): [string, Quantity] => {
    const threshold =
      name === 'cpu' || reserved.ignoreEviction ? undefined : reserved.evictionHard[thresholds[name]];
    const sum = amountOf(kube, name).add(amountOf(system, name));
    return [name, sum.add(thresholdOf(threshold, amountOf(capacity, name)))];
  });
  return new Map(amounts.filter(([, amount]) => !amount.isZero()));
}

/** A share is computed in the precision that upstream has, so that two kubelets give one node the same number. */
function thresholdOf(text: string | undefined, capacity: Quantity): Quantity {
  if (text === undefined) return Quantity.zero;
  if (!text.endsWith('%')) return Quantity.parse(text);
  const share = Math.fround(Number(text.slice(0, -1)) / 100);
  return Quantity.of(BigInt(Math.trunc(Number(capacity.value()) * share)), 'BinarySI');
}
