// The node's resources: its budget, the cgroups above pods and of pods, OOM kills.
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { ExclusiveResources } from '../api/ports/exclusive-resources.ts';
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import { NodeBudget } from '../resources/allocatable/node-budget.ts';
import { NodeChecks } from '../resources/allocatable/node-checks.ts';
import { podCgroupPolicy, podsCgroup, podsCpus, qosPolicy } from '../resources/cgroups/cgroup-policies.ts';
import { NodeCgroups } from '../resources/cgroups/node-cgroups.ts';
import { PodCgroups } from '../resources/cgroups/pod-cgroups.ts';
import { SystemCgroups } from '../resources/cgroups/system-cgroups.ts';
import { OomWatcher } from '../resources/oom/oom-watcher.ts';
import type { AssembleInput } from './input.ts';

interface ResourcesRooms {
  /** Undefined on a machine without cgroups. */
  readonly cgroups: Cgroups | undefined;
  readonly active: ActivePods;
  readonly budget: NodeBudget;
  readonly exclusive: Pick<ExclusiveResources, 'hasExclusiveCpus'>;
  readonly events: EventSink;
  readonly metrics: KubeletMetrics;
}

interface AssembledResources {
  readonly oom: OomWatcher;
  /** Undefined if pods have no cgroups of their own. */
  readonly podCgroups: PodCgroups | undefined;
  readonly components: readonly Component[];
}

type ResourcesInput = Pick<
  AssembleInput,
  'capacity' | 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'machine'
>;

export function assembleBudget({ capacity, config, flags }: ResourcesInput): NodeBudget {
  return new NodeBudget(capacity, config, flags);
}

export function assembleResources(input: ResourcesInput, rooms: ResourcesRooms): AssembledResources {
  const { clock, config, edges, gates, machine } = input;
  const { active, budget, cgroups, events, exclusive, metrics } = rooms;
  const log = input.log.with({ component: 'resources' });
  const oom = new OomWatcher({ follow: edges.kernelLog, events, clock, log });
  const checks = new NodeChecks({
    budget,
    machine,
    reservedCpus: config.reservedSystemCPUs,
    memoryQos: gates.MemoryQoS,
    events,
    log,
  });
  const system = systemCgroups(input);
  const withoutPods = [checks, oom, ...system];
  if (cgroups === undefined || !config.cgroupsPerQOS)
    return { oom, podCgroups: undefined, components: withoutPods };
  const { version } = cgroups;
  const root = podsCgroup(config.cgroupRoot);
  const policy = podCgroupPolicy(config, gates, version);
  const node = new NodeCgroups({
    cgroups,
    plan: {
      root,
      limits: budget.podsCgroupLimits(),
      reserved: budget.reservedCgroups(),
      cpus: podsCpus(config, version, machine.onlineCpus ?? ''),
      policy: qosPolicy(
        {
          qosReserved: config.qosReserved,
          memoryReservationPolicy: config.memoryReservationPolicy,
          allocatableMemoryBytes: budget.maxMemoryBytes(),
          hugePageSizes: machine.hugePageSizes,
        },
        gates,
        version,
      ),
    },
    pods: active,
    events,
    metrics: metrics.work,
    clock,
    log,
  });
  const podCgroups = new PodCgroups({ cgroups, root, policy, exclusive });
  return { oom, podCgroups, components: [...withoutPods, node] };
}

function systemCgroups({ clock, config, edges, log, machine }: ResourcesInput): readonly Component[] {
  const { kubeletCgroups: kubelet, systemCgroups: system } = config;
  const processes = edges.systemProcesses(machine.hugePageSizes);
  if (processes === undefined || (kubelet === '' && system === '')) return [];
  return [
    new SystemCgroups({
      processes,
      ownPid: edges.ownPid,
      kubelet,
      system,
      clock,
      log: log.with({ component: 'resources' }),
    }),
  ];
}
