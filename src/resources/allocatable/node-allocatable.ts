// What the node has, what of it is kept back, and what pods may have together. Pure.
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, pkg/kubelet/cadvisor (CapacityFromMachineInfo) and
// hardEvictionReservation. Invariant: allocatable is never less than nothing.

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
  /** Of the file system that holds the kubelet's root directory; undefined while it is not known. */
  readonly storageBytes: bigint | undefined;
  readonly hugePages: readonly { readonly sizeBytes: bigint; readonly count: bigint }[];
  /** How many processes the kernel allows; undefined where it does not say. */
  readonly maxProcesses: bigint | undefined;
}

export interface ReservationSettings {
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  /** How many CPUs reservedSystemCPUs names; undefined: it is not set. */
  readonly reservedCpus?: number;
  readonly evictionHard: Readonly<Record<string, string>>;
}

const binary = (bytes: bigint): Quantity => Quantity.of(bytes, 'BinarySI');
const decimal = (count: bigint | number): Quantity => Quantity.of(count);

/** As a node tells it. `pods` is told apart: it is a setting, not a property of the machine. */
export function capacityOf(machine: MachineCapacity): ResourceAmounts {
  const huge = machine.hugePages.map(
    ({ sizeBytes, count }) => [`hugepages-${binary(sizeBytes)}`, binary(sizeBytes * count)] as const,
  );
  return new Map<string, Quantity>([
    ['cpu', decimal(machine.cpus)],
    ['memory', binary(machine.memoryBytes)],
    ...(machine.storageBytes === undefined
      ? []
      : [['ephemeral-storage', binary(machine.storageBytes)] as const]),
    ...huge,
  ]);
}

/** What is enforced on cgroups counts processes as well. */
export function internalCapacityOf(machine: MachineCapacity): ResourceAmounts {
  const processes = machine.maxProcesses;
  return new Map([
    ...capacityOf(machine),
    ...(processes === undefined ? [] : [['pid', decimal(processes)] as const]),
  ]);
}

/** How many pods: maxPods, or fewer where podsPerCore says so. */
export function podCapacity(
  cpus: number,
  settings: { readonly maxPods: number; readonly podsPerCore: number },
): number {
  const { maxPods, podsPerCore } = settings;
  return podsPerCore > 0 ? Math.min(podsPerCore * cpus, maxPods) : maxPods;
}

/** systemReserved and kubeReserved; where CPUs are reserved by number, these count instead of both amounts. */
function reservedAmounts(settings: ReservationSettings): ResourceAmounts {
  return addAmounts(systemReserved(settings), kubeReserved(settings));
}

export function systemReserved(settings: ReservationSettings): ResourceAmounts {
  const amounts = new Map(parseAmounts(settings.systemReserved));
  if (settings.reservedCpus !== undefined) amounts.set('cpu', decimal(settings.reservedCpus));
  return amounts;
}

export function kubeReserved(settings: ReservationSettings): ResourceAmounts {
  const amounts = parseAmounts(settings.kubeReserved);
  return settings.reservedCpus === undefined ? amounts : filterAmounts(amounts, (name) => name !== 'cpu');
}

/** What is kept from scheduling: reservations and what eviction would defend anyway. Only of what the node has. */
export function reservationOf(capacity: ResourceAmounts, settings: ReservationSettings): ResourceAmounts {
  const all = addAmounts(reservedAmounts(settings), evictionReservation(capacity, settings.evictionHard));
  return filterAmounts(all, (name) => capacity.has(name) && !amountOf(all, name).isZero());
}

const evictionSignals: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

function evictionReservation(
  capacity: ResourceAmounts,
  thresholds: Readonly<Record<string, string>>,
): ResourceAmounts {
  const kept = new Map<string, Quantity>();
  for (const [signal, threshold] of Object.entries(thresholds)) {
    const resource = evictionSignals[signal];
    if (resource === undefined) continue;
    const amount = thresholdAmount(threshold, amountOf(capacity, resource));
    if (amount !== undefined) kept.set(resource, amount);
  }
  return kept;
}

/** An amount, or a part of the capacity, with the precision that upstream reckons in. */
function thresholdAmount(threshold: string, capacity: Quantity): Quantity | undefined {
  if (!threshold.endsWith('%')) return Quantity.parse(threshold);
  const part = Math.fround(Number(threshold.slice(0, -1)) / 100);
  if (part <= 0 || part >= 1) return undefined;
  return binary(BigInt(Math.trunc(Number(capacity.value()) * part)));
}

/** What pods may have together, as it is enforced: without what eviction keeps free. */
export function enforcedAllocatable(
  capacity: ResourceAmounts,
  settings: ReservationSettings,
): ResourceAmounts {
  return minus(capacity, reservedAmounts(settings));
}

/** What pods may have together, as the scheduler sees it: huge pages are no ordinary memory. */
export function allocatableOf(capacity: ResourceAmounts, reservation: ResourceAmounts): ResourceAmounts {
  const left = new Map(minus(capacity, reservation));
  for (const [name, amount] of capacity) {
    if (isHugePages(name)) left.set('memory', atLeastNone(amountOf(left, 'memory').sub(amount)));
  }
  return left;
}

/** Undefined: what is kept back is there. */
export function reservationFault(
  capacity: ResourceAmounts,
  reservation: ResourceAmounts,
): string | undefined {
  const faults = [...reservation].flatMap(([name, amount]) => {
    const has = amountOf(capacity, name);
    return has.sub(amount).sign() < 0
      ? [
          `Resource "${name}" has a reservation of ${amount} but capacity of ${has}. Expected capacity >= reservation.`,
        ]
      : [];
  });
  return faults.length === 0 ? undefined : `invalid Node Allocatable configuration. ${faults.join(' ')}`;
}

function minus(from: ResourceAmounts, what: ResourceAmounts): ResourceAmounts {
  return new Map([...from].map(([name, amount]) => [name, atLeastNone(amount.sub(amountOf(what, name)))]));
}

function atLeastNone(amount: Quantity): Quantity {
  return amount.sign() < 0 ? Quantity.zero : amount;
}
