// What pods have for themselves: devices, CPUs, memory of NUMA nodes, and the topology manager that aligns them.
import type { CriRuntime } from '../api/cri/runtime.ts';
import { latestContainer } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { CsiRegistry } from '../api/ports/csi.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { NodeResources } from '../node/node-facts.ts';
import type { Pleg } from '../pleg/pleg.ts';
import { pluginHandlers } from '../plugins/plugin-handlers.ts';
import { PluginManager } from '../plugins/plugin-manager.ts';
import { countPlugins } from '../plugins/plugin-metrics.ts';
import { RegisteredDevicePlugins } from '../plugins/registered-device-plugins.ts';
import { DevicePluginRegistrationServer } from '../plugins/registration-server.ts';
import type { ResourceViews } from '../pod-resources/resource-views.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { NodeBudget } from '../resources/allocatable/node-budget.ts';
import { podsCgroup } from '../resources/cgroups/cgroup-policies.ts';
import { RunningContainers } from '../resources/cgroups/running-containers.ts';
import { CpuManager } from '../resources/cpu/cpu-manager.ts';
import { CpuManagerMetrics } from '../resources/cpu/cpu-manager-metrics.ts';
import { CpuSet } from '../resources/cpu/cpu-set.ts';
import { discoverCpuTopology } from '../resources/cpu/cpu-topology.ts';
import { DeviceManager } from '../resources/devices/device-manager.ts';
import { MemoryManager } from '../resources/memory/memory-manager.ts';
import { MemoryManagerMetrics } from '../resources/memory/memory-manager-metrics.ts';
import { ManagedResources } from '../resources/topology/managed-resources.ts';
import { NumaNodes } from '../resources/topology/numa-nodes.ts';
import { TopologyManager } from '../resources/topology/topology-manager.ts';
import { TopologyMetrics } from '../resources/topology/topology-metrics.ts';
import { computeTopologyPolicy } from '../resources/topology/topology-policy.ts';
import type { HealthCheck } from '../server/health.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface ExclusiveRooms {
  readonly stores: SharedStores;
  readonly active: ActivePods;
  readonly cri: Pick<CriRuntime, 'containerStatus' | 'listContainers' | 'updateContainerResources'>;
  /** Undefined on a machine without cgroups. */
  readonly cgroups: Cgroups | undefined;
  readonly budget: NodeBudget;
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
  /** CSI drivers register through the same directory as device plugins. */
  readonly drivers: CsiRegistry;
  /** False until the runtime has reported whether it has the pod. */
  readonly isInspected: (uid: PodUid) => boolean;
}

interface ExclusiveRoom {
  readonly resources: ManagedResources;
  readonly devices: DeviceManager;
  /** Which device plugins are registered. */
  readonly devicePlugins: RegisteredDevicePlugins;
  /** For the pod resources API. */
  readonly views: ResourceViews;
  /** Started before pods are admitted: they restore the state of an earlier process. */
  readonly managers: readonly Component[];
  /** Releases what pods had that have ended. */
  readonly releases: (pleg: Pleg) => Component;
  /** Plugins register with them, so they start last. */
  readonly plugins: readonly Component[];
  readonly checks: readonly HealthCheck[];
  /** The node's resources with the devices. */
  readonly nodeResources: NodeResources;
}

type ExclusiveInput = Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'log' | 'topology'>;

export function assembleExclusive(input: ExclusiveInput, rooms: ExclusiveRooms): ExclusiveRoom {
  const { clock, config, log, topology: machine } = input;
  const { stores } = rooms;
  const { desired, lifecycles, observed } = stores;
  const numa = new NumaNodes(machine.nodes);
  const alignment = new TopologyMetrics(rooms.metrics.registry, clock);
  const running = runningContainers(input, rooms);
  const { devicePlugins, devices, plugins, registration } = assembleDevices(input, rooms, { numa, running });
  const cpus = assembleCpus(input, rooms, { numa, running, alignment });
  const memory = assembleMemory(input, rooms, running);
  const topology = new TopologyManager({
    providers: [devices, cpus, memory],
    policy: computeTopologyPolicy(config, numa),
    scope: config.topologyManagerScope,
    numa,
    observed,
    metrics: alignment,
    log: log.with({ component: 'topology-manager' }),
  });
  const views: ResourceViews = {
    devices,
    cpus: {
      exclusiveCpus: (uid, container) => cpus.exclusiveCpus(uid, container)?.ids ?? [],
      allocatable: () => cpus.allocatable().ids,
    },
    memory,
  };
  return {
    resources: new ManagedResources({ topology, devices, cpus, memory }),
    devices,
    devicePlugins,
    views,
    managers: [cpus, memory, devices],
    releases: (pleg) => topology.follow({ desired, lifecycles, observed, pleg }),
    plugins,
    // differs from upstream: a restart of the kubelet would not help, so /healthz as a whole does not fail.
    checks: [{ name: 'device-plugin', check: () => registration.check(), advisory: true }],
    nodeResources: {
      capacity: () => rooms.budget.capacity(),
      reservation: () => rooms.budget.reservation(),
      devices: () => devices.nodeDevices(),
      devicesChanged: devices.capacityChanged,
      resetExtendedResources: () => devices.resetExtendedResources(),
    },
  };
}

function runningContainers(
  { clock, config }: ExclusiveInput,
  { cgroups, cri }: ExclusiveRooms,
): RunningContainers {
  const own = config.cgroupsPerQOS ? cgroups : undefined;
  return new RunningContainers({ cri, cgroups: own, root: podsCgroup(config.cgroupRoot), clock });
}

interface DeviceParts {
  readonly numa: NumaNodes;
  readonly running: RunningContainers;
}

interface AssembledDevices extends Pick<ExclusiveRoom, 'devices' | 'devicePlugins' | 'plugins'> {
  readonly registration: DevicePluginRegistrationServer;
}

function assembleDevices(
  { clock, edges, flags, log }: ExclusiveInput,
  { active, drivers, events, isInspected, metrics, stores }: ExclusiveRooms,
  { numa, running }: DeviceParts,
): AssembledDevices {
  const { desired, observed } = stores;
  const devices = new DeviceManager({
    files: edges.stateFiles,
    directory: flags.devicePluginDir,
    isUnusedDirectory: () => edges.plugins.deviceDirectory.isUnused(flags.devicePluginDir),
    isAdvertised: (resource) => stores.ownNode.get()?.status?.capacity?.[resource] !== undefined,
    dialer: edges.plugins.devicePlugins,
    nodes: () => numa,
    pods: {
      all: () => desired.all().map(({ pod }) => pod),
      sourcesReady: () => desired.sourcesReady(),
      isActive: (uid) => active.has(uid),
      isRunning: (uid, name) => latestContainer(observed.get(uid), name)?.state === 'running',
      isInspected,
    },
    runningContainers: (signal) => running.list(signal),
    events,
    metrics: metrics.devices,
    waitMs: flags.devicePluginWait.ms,
    clock,
    log: log.with({ component: 'device-manager' }),
  });
  const devicePlugins = new RegisteredDevicePlugins(devices);
  const registration = new DevicePluginRegistrationServer({
    directory: flags.devicePluginDir,
    listen: edges.listenGrpc,
    files: edges.plugins.deviceDirectory,
    registry: devicePlugins,
    clock,
    log: log.with({ component: 'device-plugin-registration' }),
  });
  const manager = new PluginManager({
    directory: `${flags.rootDir}/plugins_registry`,
    watch: edges.plugins.watch,
    dial: edges.plugins.dial,
    handlers: pluginHandlers(devicePlugins, drivers),
    clock,
    log: log.with({ component: 'plugin-manager' }),
  });
  countPlugins(metrics.registry, manager);
  return { devices, devicePlugins, plugins: [registration, manager], registration };
}

interface CpuParts extends DeviceParts {
  readonly alignment: TopologyMetrics;
}

function assembleCpus(
  { clock, config, edges, flags, log, topology: machine }: ExclusiveInput,
  { active, budget, cri, events, metrics, stores }: ExclusiveRooms,
  { alignment, numa, running }: CpuParts,
): CpuManager {
  return new CpuManager({
    config: {
      policy: config.cpuManagerPolicy,
      options: config.cpuManagerPolicyOptions,
      reservation: {
        amount: budget.reservation().get('cpu'),
        cpus: CpuSet.parse(config.reservedSystemCPUs),
      },
      reconcilePeriodMs: config.cpuManagerReconcilePeriod.ms,
      rootDir: flags.rootDir,
    },
    machine: { topology: discoverCpuTopology(machine), numa },
    files: edges.stateFiles,
    runtime: { cri, cpusetOf: (id, signal) => running.cpusOf(id, signal) },
    pods: { active, observed: stores.observed },
    metrics: new CpuManagerMetrics(metrics.registry, alignment),
    report: { events, log: log.with({ component: 'cpu-manager' }) },
    clock,
  });
}

function assembleMemory(
  { clock, config, edges, flags, log, topology: machine }: ExclusiveInput,
  { budget, events, metrics }: ExclusiveRooms,
  running: RunningContainers,
): MemoryManager {
  return new MemoryManager({
    files: edges.stateFiles,
    rootDir: flags.rootDir,
    metrics: new MemoryManagerMetrics(metrics.registry),
    policy: config.memoryManagerPolicy,
    reservedMemory: config.reservedMemory,
    nodeReservation: budget.reservation(),
    topology: async () => machine,
    running: () => running.listGuaranteed(),
    cpusetMemsOf: (id) => running.memoryNodesOf(id),
    events,
    clock,
    log: log.with({ component: 'memory-manager' }),
  });
}
