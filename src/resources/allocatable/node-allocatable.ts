// Computes the node's capacity, its reservations and what is allocatable to pods. Pure.
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, pkg/kubelet/cadvisor (CapacityFromMachineInfo) and
// hardEvictionReservation. Invariant: allocatable is never negative.

import { isHugePages } from '../../api/quantity/huge-pages.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import {
  addAmounts,
  amountOf,
  filterAmounts,
  parseAmounts,
  type ResourceAmounts,
} from '../../api/quantity/resource-amounts.ts';

export interface MachineCapacity {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  /** Of the file system that holds the kubelet's root directory; undefined while unknown. */
  readonly storageBytes: bigint | undefined;
  readonly hugePages: readonly { readonly sizeBytes: bigint; readonly count: bigint }[];
  /** The kernel's limit on processes; undefined if the kernel does not report it. */
  readonly maxProcesses: bigint | undefined;
}

export interface ReservationSettings {
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  /** How many CPUs reservedSystemCPUs names; undefined if it is not set. */
  readonly reservedCpus?: number;
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Reserved by --auto-reserve, for no cgroup in particular. */
  readonly autoReserved?: Readonly<Record<string, string>>;
}

const binary = (bytes: bigint): Quantity => Quantity.of(bytes, 'BinarySI');
const decimal = (count: bigint | number): Quantity => Quantity.of(count);

/** As the node reports it, without `pods`, which is a setting and not a property of the machine. */
export function capacityOf(machine: MachineCapacity): ResourceAmounts {
  const huge = machine.hugePages.map(
    ({ sizeBytes, count }) => [`hugepages-${binary(sizeBytes)}`, binary(sizeBytes * count)] as const,
  );
  return new Map<string, Quantity>([
    ['cpu', decimal(machine.cpus)],
    ['memory', binary(machine.memoryBytes)],
    ...(machine.storageBytes === undefined
      ? []
      : [['ephemeral-storage', decimal(machine.storageBytes)] as const]),
    ...huge,
  ]);
}

/** The capacity that cgroups are limited to: with processes (`pid`). */
export function internalCapacityOf(machine: MachineCapacity): ResourceAmounts {
  const processes = machine.maxProcesses;
  return new Map([
    ...capacityOf(machine),
    ...(processes === undefined ? [] : [['pid', decimal(processes)] as const]),
  ]);
}

/** maxPods, or fewer if podsPerCore is set. */
export function podCapacity(
  cpus: number,
  settings: { readonly maxPods: number; readonly podsPerCore: number },
): number {
  const { maxPods, podsPerCore } = settings;
  return podsPerCore > 0 ? Math.min(podsPerCore * cpus, maxPods) : maxPods;
}

/** systemReserved plus kubeReserved, plus what is reserved automatically. Reserved CPUs (reservedSystemCPUs) replace the CPU amounts. */
function reservedAmounts(settings: ReservationSettings): ResourceAmounts {
  const explicit = addAmounts(systemReserved(settings), kubeReserved(settings));
  return addAmounts(explicit, parseAmounts(settings.autoReserved ?? {}));
}

export function systemReserved(settings: ReservationSettings): ResourceAmounts {
  const amounts = new Map(parseReserved(settings.systemReserved));
  if (settings.reservedCpus !== undefined) amounts.set('cpu', decimal(settings.reservedCpus));
  return amounts;
}

export function kubeReserved(settings: ReservationSettings): ResourceAmounts {
  const amounts = parseReserved(settings.kubeReserved);
  return settings.reservedCpus === undefined ? amounts : filterAmounts(amounts, (name) => name !== 'cpu');
}

/** CPU is rounded to whole millicores. */
function parseReserved(list: Readonly<Record<string, string>>): ResourceAmounts {
  const amounts = parseAmounts(list);
  const cpu = amounts.get('cpu');
  if (cpu === undefined) return amounts;
  return new Map([...amounts, ['cpu', Quantity.parse(`${(cpu.scaledValue(-6) + 500n) / 1000n}m`)]]);
}

/** What is kept from scheduling: reservations and hard eviction thresholds, for resources of the capacity only. */
export function reservationOf(capacity: ResourceAmounts, settings: ReservationSettings): ResourceAmounts {
  const all = addAmounts(reservedAmounts(settings), evictionReservation(capacity, settings.evictionHard));
  return filterAmounts(all, (name) => capacity.has(name) && !amountOf(all, name).isZero());
}

const resourceBySignal: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

function evictionReservation(
  capacity: ResourceAmounts,
  thresholds: Readonly<Record<string, string>>,
): ResourceAmounts {
  const reserved = new Map<string, Quantity>();
  for (const [signal, threshold] of Object.entries(thresholds)) {
    const resource = resourceBySignal[signal];
    if (resource === undefined) continue;
    const amount = thresholdAmount(threshold, amountOf(capacity, resource));
    if (amount !== undefined) reserved.set(resource, amount);
  }
  return reserved;
}

/** A quantity, or a percentage of the capacity in single precision, as upstream computes it. */
function thresholdAmount(threshold: string, capacity: Quantity): Quantity | undefined {
  if (!threshold.endsWith('%')) return Quantity.parse(threshold);
  const fraction = Math.fround(Number(threshold.slice(0, -1)) / 100);
  if (fraction <= 0 || fraction >= 1) return undefined;
  return binary(BigInt(Math.trunc(Number(capacity.value()) * fraction)));
}

/** The limit of all pods together as cgroups enforce it. Eviction thresholds are not subtracted. */
export function enforcedAllocatable(
  capacity: ResourceAmounts,
  settings: ReservationSettings,
): ResourceAmounts {
  return subtract(capacity, reservedAmounts(settings));
}

/** Allocatable as the scheduler sees it. Huge pages are subtracted from memory. */
export function allocatableOf(capacity: ResourceAmounts, reservation: ResourceAmounts): ResourceAmounts {
  const left = new Map(subtract(capacity, reservation));
  for (const [name, amount] of capacity) {
    if (isHugePages(name)) left.set('memory', clampToZero(amountOf(left, 'memory').sub(amount)));
  }
  return left;
}

/** Why the reservation is invalid; undefined if it fits the capacity. */
export function reservationFault(
  capacity: ResourceAmounts,
  reservation: ResourceAmounts,
): string | undefined {
  const faults = [...reservation].flatMap(([name, amount]) => {
    const available = amountOf(capacity, name);
    return available.sub(amount).sign() < 0
      ? [
          `Resource "${name}" has a reservation of ${amount} but capacity of ${available}. Expected capacity >= reservation.`,
        ]
      : [];
  });
  return faults.length === 0 ? undefined : `invalid Node Allocatable configuration. ${faults.join(' ')}`;
}

function subtract(from: ResourceAmounts, amounts: ResourceAmounts): ResourceAmounts {
  return new Map([...from].map(([name, amount]) => [name, clampToZero(amount.sub(amountOf(amounts, name)))]));
}

function clampToZero(amount: Quantity): Quantity {
  return amount.sign() < 0 ? Quantity.zero : amount;
}
