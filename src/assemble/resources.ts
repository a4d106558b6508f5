// Plugs together what keeps a node's resources: the cgroups of pods, of their classes and of the node, and what the node
// has to give. Nothing is decided here.
import type { Pod } from '../api/k8s/types.ts';
import { isActivePod } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { CgroupName, Cgroups } from '../api/ports/cgroups.ts';
import type { EventSink } from '../api/ports/events.ts';
import { parseCpuList } from '../api/quantity/cpu-list.ts';
import { amountOf, type ResourceAmounts } from '../api/quantity/resource-amounts.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
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
} from '../resources/allocatable/node-allocatable.ts';
import { NodeChecks } from '../resources/allocatable/node-checks.ts';
import { NodeCgroups, type ReservedCgroup } from '../resources/cgroups/node-cgroups.ts';
import { PodCgroups } from '../resources/cgroups/pod-cgroups.ts';
import type { QosPolicy } from '../resources/cgroups/qos-cgroup-settings.ts';
import { SystemCgroups, type SystemCgroupsDeps } from '../resources/cgroups/system-cgroups.ts';
import { OomWatcher, type OomWatcherDeps } from '../resources/oom/oom-watcher.ts';

interface Announced<K, V> {
  readonly changed: Subscribable<K>;
  get(key: K): V | undefined;
}

interface ResourcesInput {
  readonly config: KubeletConfiguration;
  readonly flags: Pick<KubeletFlags, 'experimentalAllocatableIgnoreEviction'>;
  readonly gates: FeatureGates;
  readonly capacity: MachineCapacity;
  readonly hugePageSizes: readonly string[];
  readonly machine: {
    readonly cgroupVersion: 1 | 2;
    readonly swapBytes?: bigint;
    readonly kernelRelease?: string;
    readonly onlineCpus?: string;
  };
  /** Undefined: the machine has none. */
  readonly cgroups: Cgroups | undefined;
  /** What runs beside pods; undefined on a machine without cgroups. */
  readonly processes: SystemCgroupsDeps['processes'] | undefined;
  readonly ownPid: number;
  readonly kernelLog: OomWatcherDeps['follow'];
  readonly desired: Announced<PodUid, unknown> & {
    all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
  };
  readonly lifecycles: Announced<PodUid, PodLifecycle>;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Logger;
}

interface AssembledResources {
  /** As the node tells it, without how many pods. */
  capacity(): ResourceAmounts;
  /** What of it is kept from scheduling. */
  reservation(): ResourceAmounts;
  /** What is left for pods. */
  allocatable(): ResourceAmounts;
  /** The most that they may ever have together: without what eviction keeps free, and with what lies in huge pages. */
  mostForPods(): ResourceAmounts;
  /** How many of them. */
  readonly maxPods: number;
  /** Pods that are wanted and have not ended. */
  active(): readonly Pod[];
  readonly pods: PodCgroups | undefined;
  /** Whether a process of this container was killed for lack of memory since this kubelet started. */
  wasOomKilled(containerId: string): boolean;
  readonly components: readonly Component[];
}

export function assembleResources(input: ResourcesInput): AssembledResources {
  const { cgroups, config } = input;
  const settings = reservationSettings(input);
  const capacity = capacityOf(input.capacity);
  const reservation = reservationOf(capacity, settings);
  const allocatable = allocatableOf(capacity, reservation);
  const most = enforcedAllocatable(capacity, settings);
  const active = activePods(input);
  const log = input.log.with({ component: 'resources' });
  const oom = new OomWatcher({ follow: input.kernelLog, events: input.events, clock: input.clock, log });
  const { cgroupVersion, kernelRelease = '', onlineCpus = '', swapBytes = 0n } = input.machine;
  const checks = new NodeChecks({
    capacity,
    reservation,
    reservedCpus: config.reservedSystemCPUs,
    onlineCpus,
    kernelRelease,
    swapBytes,
    cgroupVersion,
    events: input.events,
  });
  const around = [checks, oom, ...systemCgroups(input, log)];
  const node = {
    wasOomKilled: (containerId: string) => oom.hasKilledIn(containerId),
    capacity: () => capacity,
    reservation: () => reservation,
    allocatable: () => allocatable,
    mostForPods: () => most,
    maxPods: podCapacity(input.capacity.cpus, config),
    active: () => active.active(),
  };
  if (cgroups === undefined || !config.cgroupsPerQOS) return { ...node, pods: undefined, components: around };
  const root: CgroupName = [...config.cgroupRoot.split('/').filter((part) => part !== ''), 'kubepods'];
  const pods = podCgroups(input, cgroups, root);
  const enforced = config.enforceNodeAllocatable.includes('pods');
  const internal = internalCapacityOf(input.capacity);
  const component = new NodeCgroups({
    cgroups,
    root,
    limits: enforced ? enforcedAllocatable(internal, settings) : internal,
    reserved: reservedCgroups(config, settings),
    cpus: allCpus(input, cgroups),
    pods: active,
    policy: qosPolicy(input, most),
    events: input.events,
    clock: input.clock,
    log,
  });
  return { ...node, pods, components: [...around, component] };
}

function systemCgroups(input: ResourcesInput, log: Logger): readonly Component[] {
  const { clock, config, ownPid, processes } = input;
  const { kubeletCgroups: kubelet, systemCgroups: system } = config;
  if (processes === undefined || (kubelet === '' && system === '')) return [];
  return [new SystemCgroups({ processes, ownPid, kubelet, system, clock, log })];
}

/**
 * With slices of cgroup v2, systemd takes away the controller of processors where nobody asked it for any. With whole
 * processors for pods, whoever gives them away says which. differs from upstream: elsewhere none are named, so that one that
 * comes online later serves pods too.
 */
function allCpus({ config, machine }: ResourcesInput, cgroups: Cgroups): string {
  const isNeeded =
    cgroups.version === 2 && config.cgroupDriver === 'systemd' && config.cpuManagerPolicy === 'none';
  return isNeeded ? (machine.onlineCpus ?? '') : '';
}

function podCgroups(input: ResourcesInput, cgroups: Cgroups, root: CgroupName): PodCgroups {
  const { config, gates } = input;
  return new PodCgroups({
    cgroups,
    root,
    policy: {
      enforceCpuLimits: config.cpuCFSQuota,
      cpuPeriodUs: config.cpuCFSQuotaPeriod.ns / 1_000n,
      pidsLimit: BigInt(config.podPidsLimit),
      memoryQos: gates.MemoryQoS && cgroups.version === 2,
      podLevelResources: gates.PodLevelResources,
    },
  });
}

function qosPolicy(input: ResourcesInput, allocatable: ResourceAmounts): QosPolicy {
  const { config, gates } = input;
  const percent = /^(\d+)%$/.exec(config.qosReserved['memory'] ?? '')?.[1];
  return {
    podLevelResources: gates.PodLevelResources,
    memoryQos: gates.MemoryQoS && input.cgroups?.version === 2,
    memoryReservePercent: gates.QOSReserved && percent !== undefined ? BigInt(percent) : undefined,
    allocatableMemoryBytes: amountOf(allocatable, 'memory').value(),
    hugePageSizes: input.hugePageSizes,
  };
}

function activePods({ desired, lifecycles }: ResourcesInput) {
  const changed = new Channel<void>();
  for (const store of [desired, lifecycles]) store.changed.subscribe(() => changed.push());
  return {
    active: () =>
      desired.all().flatMap(({ uid, pod }) => (isActivePod(pod, lifecycles.get(uid)) ? [pod] : [])),
    changed,
  };
}

function reservationSettings({ config, flags }: ResourcesInput): ReservationSettings {
  const reserved =
    config.reservedSystemCPUs === '' ? {} : { reservedCpus: parseCpuList(config.reservedSystemCPUs).length };
  const evictionHard = flags.experimentalAllocatableIgnoreEviction ? {} : config.evictionHard;
  return { ...config, ...reserved, evictionHard };
}

function reservedCgroups(
  config: KubeletConfiguration,
  settings: ReservationSettings,
): readonly ReservedCgroup[] {
  const places = {
    'system-reserved': { cgroup: config.systemReservedCgroup, amounts: systemReserved(settings) },
    'kube-reserved': { cgroup: config.kubeReservedCgroup, amounts: kubeReserved(settings) },
  };
  return [false, true].flatMap((compressible) =>
    Object.entries(places)
      .filter(([kind]) =>
        config.enforceNodeAllocatable.includes(compressible ? `${kind}-compressible` : kind),
      )
      .map(([kind, place]) => ({ kind, ...place, compressible })),
  );
}
