// The node's resources as one value: capacity, reservations and what is allocatable to pods. Computed at start; evictionHard and
// maxPods may change later, of which the former changes reservation and allocatable, but no limit of a cgroup.
// Upstream: GetCapacity, GetNodeAllocatableReservation and GetNodeAllocatableAbsolute of pkg/kubelet/cm.
import { parseCpuList } from '../../api/quantity/cpu-list.ts';
import { amountOf, formatAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { cachedBy } from '../../base/cached-by.ts';
import { computeAutoReserve } from './auto-reserve.ts';
import {
  allocatableOf,
  capacityOf,
  enforcedAllocatable,
  internalCapacityOf,
  kubeReserved,
  type MachineCapacity,
  podCapacity,
  type ReservationSettings,
  reservationOf,
  systemReserved,
} from './node-allocatable.ts';

/** The configuration fields that determine the node's allocatable resources. */
export interface BudgetConfig extends Omit<ReservationSettings, 'autoReserved' | 'reservedCpus'> {
  readonly reservedSystemCPUs: string;
  readonly maxPods: number;
  readonly podsPerCore: number;
  readonly enforceNodeAllocatable: readonly string[];
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
}

export interface BudgetFlags {
  readonly experimentalAllocatableIgnoreEviction: boolean;
  readonly autoReserve: boolean;
}

/** A cgroup of system or Kubernetes daemons, with the amounts reserved for it. */
export interface ReservedCgroup {
  /** `system-reserved`, for the event. */
  readonly kind: string;
  /** As the configuration names it. */
  readonly cgroup: string;
  readonly amounts: ResourceAmounts;
  /** Only compressible resources: CPU. */
  readonly compressible: boolean;
}

export class NodeBudget {
  readonly #machine: MachineCapacity;
  readonly #config: BudgetConfig;
  readonly #settings: ReservationSettings;
  readonly #capacity: ResourceAmounts;
  readonly #reservation: () => ResourceAmounts;
  readonly #allocatable: () => ResourceAmounts;
  readonly #enforced: ResourceAmounts;

  constructor(machine: MachineCapacity, config: BudgetConfig, flags: BudgetFlags) {
    const { reservedSystemCPUs } = config;
    this.#machine = machine;
    this.#config = config;
    this.#settings = {
      kubeReserved: config.kubeReserved,
      systemReserved: config.systemReserved,
      ...(reservedSystemCPUs === '' ? {} : { reservedCpus: parseCpuList(reservedSystemCPUs).length }),
      get evictionHard() {
        return flags.experimentalAllocatableIgnoreEviction ? {} : config.evictionHard;
      },
      autoReserved: flags.autoReserve ? computeAutoReserve(machine, config) : {},
    };
    this.#capacity = capacityOf(machine);
    this.#reservation = cachedBy(
      () => [config.evictionHard],
      () => reservationOf(this.#capacity, this.#settings),
    );
    this.#allocatable = cachedBy(
      () => [this.#reservation()],
      (reservation) => allocatableOf(this.#capacity, reservation),
    );
    this.#enforced = enforcedAllocatable(this.#capacity, this.#settings);
  }

  /** As the node reports it, without the number of pods. */
  capacity(): ResourceAmounts {
    return this.#capacity;
  }

  /** The part of the capacity that is kept from scheduling. */
  reservation(): ResourceAmounts {
    return this.#reservation();
  }

  /** What --auto-reserve has added to the reservation, as quantities in text; empty without it. */
  autoReserved(): Readonly<Record<string, string>> {
    return this.#settings.autoReserved ?? {};
  }

  /** The part of the capacity that is left for pods. */
  allocatable(): ResourceAmounts {
    return this.#allocatable();
  }

  /** The same as quantities in text, by resource name. */
  allocatableList(): Readonly<Record<string, string>> {
    return formatAmounts(this.#allocatable());
  }

  /** The upper bound for all pods together. Includes what eviction thresholds keep free and huge pages. */
  maxForPods(): ResourceAmounts {
    return this.#enforced;
  }

  maxMemoryBytes(): bigint {
    return amountOf(this.#enforced, 'memory').value();
  }

  maxPods(): number {
    return podCapacity(this.#machine.cpus, this.#config);
  }

  /** The limits of the cgroup of all pods, processes included; the whole machine unless `pods` is enforced. */
  podsCgroupLimits(): ResourceAmounts {
    const internal = internalCapacityOf(this.#machine);
    return this.#config.enforceNodeAllocatable.includes('pods')
      ? enforcedAllocatable(internal, this.#settings)
      : internal;
  }

  /** The reserved cgroups that enforceNodeAllocatable names; those with compressible resources only come last. */
  reservedCgroups(): readonly ReservedCgroup[] {
    const { enforceNodeAllocatable, kubeReservedCgroup, systemReservedCgroup } = this.#config;
    const cgroups = {
      'system-reserved': { cgroup: systemReservedCgroup, amounts: systemReserved(this.#settings) },
      'kube-reserved': { cgroup: kubeReservedCgroup, amounts: kubeReserved(this.#settings) },
    };
    return [false, true].flatMap((compressible) =>
      Object.entries(cgroups)
        .filter(([kind]) => enforceNodeAllocatable.includes(compressible ? `${kind}-compressible` : kind))
        .map(([kind, each]) => ({ kind, ...each, compressible })),
    );
  }
}
