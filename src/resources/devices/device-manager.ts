// Gives devices of device plugins to containers. Upstream: pkg/kubelet/cm/devicemanager.
// Owns kubelet_internal_checkpoint and everything about devices in memory (sole writer). Invariants: no device is given to two pods;
// an allocation is in the checkpoint before its container is created; a plugin delays only the pods that use it.
import { join } from 'node:path';
import type { Container, Pod, ResourceStatus } from '../../api/k8s/types.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import type {
  DevicePluginDialer,
  DevicePluginRegistry,
  PluginDevice,
} from '../../api/ports/device-plugins.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { DeviceGrants } from '../../api/ports/exclusive-resources.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { KeptCheckpoint, type KeptFiles } from '../checkpoint/kept-checkpoint.ts';
import type { HintProvider, ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import type { NumaNodes } from '../topology/numa-nodes.ts';
import { CapacityChanges } from './capacity-changes.ts';
import {
  type DeviceCheckpoint,
  decodeDeviceCheckpoint,
  encodeDeviceCheckpoint,
} from './device-checkpoint.ts';
import { DeviceCommits } from './device-commits.ts';
import { DeviceInventory } from './device-inventory.ts';
import { DeviceRecords, type PodsView } from './device-records.ts';
import { DeviceRecovery, type RunningContainer } from './device-recovery.ts';
import { DeviceReservations } from './device-reservations.ts';
import { allocatableDevices, devicesOf, type ResourceDevice, statusOf } from './device-views.ts';
import { type DeviceWait, DeviceWaits } from './device-waits.ts';
import { HeldDevices } from './held-devices.ts';
import { computeMissingDevices } from './missing-devices.ts';
import { PluginConnections } from './plugin-connections.ts';

const checkpointName = 'kubelet_internal_checkpoint';
const defaultWaitMs = 2 * 60_000;
/** Restored and registered names together. */
const mostResources = 256;

interface DeviceManagerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly files: KeptFiles;
  /** Of the sockets of device plugins. */
  readonly directory: string;
  /** True if no kubelet has used the directory. Resources that were advertised by hand on the Node stay otherwise. */
  readonly isUnusedDirectory: () => Promise<boolean>;
  /** Whether the Node object has this extended resource. */
  readonly isAdvertised: (resource: string) => boolean;
  readonly dialer: DevicePluginDialer;
  /** Known once the machine was inspected. */
  readonly nodes: () => NumaNodes;
  readonly pods: PodsView;
  /** Asked once, if the checkpoint was lost. */
  readonly runningContainers: (signal: AbortSignal) => Promise<readonly RunningContainer[]>;
  readonly events: Pick<EventSink, 'node'>;
  readonly metrics: {
    registered(resource: string): void;
    allocated(resource: string, seconds: number): void;
  };
  /** For how long a pod waits for its device plugin. */
  readonly waitMs?: number;
}

export class DeviceManager implements Component, HintProvider, DevicePluginRegistry {
  readonly name = 'device-manager';
  /** Announces pods with a device whose health changed. */
  readonly changed = new Channel<PodUid>();
  /** Announces that the node's capacity or allocatable changed. */
  readonly capacityChanged = new Channel<void>();
  /** Announces pods that no longer have to wait for a plugin. */
  readonly wake = new Channel<PodUid>();
  readonly #deps: DeviceManagerDeps;
  readonly #held = new HeldDevices();
  readonly #capacityChanges: CapacityChanges;
  readonly #inventory: DeviceInventory;
  readonly #records: DeviceRecords;
  readonly #plugins: PluginConnections;
  readonly #reservations: DeviceReservations;
  readonly #commits: DeviceCommits;
  readonly #waits: DeviceWaits;
  readonly #checkpoint: KeptCheckpoint<DeviceCheckpoint>;
  readonly #recovery: DeviceRecovery;
  #isStarted = false;
  #isNewNode = false;
  /** Nothing is left of a damaged checkpoint, not even which resources were device plugins'. */
  #isForgotten = false;

  constructor(deps: DeviceManagerDeps) {
    const { clock, dialer, files, log, metrics, nodes, pods } = deps;
    const held = this.#held;
    this.#deps = deps;
    this.#capacityChanges = new CapacityChanges(clock, this.capacityChanged);
    this.#checkpoint = new KeptCheckpoint({
      files,
      clock,
      path: join(deps.directory, checkpointName),
      decode: decodeDeviceCheckpoint,
      encode: () => encodeDeviceCheckpoint(held.rendered(), this.#inventory.registered()),
      onError: (err) => log.error('Failed to write the checkpoint of the device manager', { err }),
    });
    const checkpoint = this.#checkpoint;
    this.#waits = new DeviceWaits(clock, deps.waitMs ?? defaultWaitMs, this.wake);
    this.#inventory = new DeviceInventory({ clock, onChange: () => this.#capacityChanged() });
    const inventory = this.#inventory;
    this.#records = new DeviceRecords(held, pods);
    this.#plugins = new PluginConnections({
      dialer,
      clock,
      log,
      onRegistration: (resource) => metrics.registered(resource),
      onConnected: (resource) => this.#connected(resource),
      onList: (resource, devices) => this.#listed(resource, devices),
      onLost: (resource) => inventory.disconnected(resource),
    });
    this.#recovery = new DeviceRecovery({
      ...deps,
      held,
      inventory,
      records: this.#records,
      waits: this.#waits,
    });
    const reservations = new DeviceReservations({ nodes, inventory, held, records: this.#records, pods });
    this.#reservations = reservations;
    const plugins = this.#plugins;
    this.#commits = new DeviceCommits({
      clock,
      log,
      inventory,
      held,
      reservations,
      plugins,
      pods,
      checkpoint,
      metrics,
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const loaded = await this.#checkpoint.load();
    this.#isNewNode =
      loaded.state === undefined && loaded.fault === undefined && (await this.#deps.isUnusedDirectory());
    this.#isForgotten = loaded.state === undefined && loaded.fault !== undefined;
    await this.#recovery.restore(loaded, signal);
    this.#isStarted = true;
    const settled = this.#recovery.settle(loaded.fault, signal).catch(() => undefined);
    return { stopped: Promise.all([settled, untilAborted(signal)]).then(() => this.#stop()) };
  }

  async register(
    plugin: Parameters<DevicePluginRegistry['register']>[0],
    signal: AbortSignal,
  ): Promise<void> {
    // The next write of the checkpoint would lose what has not been read yet.
    if (!this.#isStarted)
      throw new KubeletError('unavailable', 'Starting', 'the device manager has not started yet');
    await this.#plugins.register(plugin, signal);
  }

  deregister(plugin: Parameters<DevicePluginRegistry['deregister']>[0]): void {
    this.#plugins.deregister(plugin);
  }

  containerHints(pod: Pod, container: Container): ResourceHints {
    return this.#reservations.containerHints(pod, container);
  }

  podHints(pod: Pod): ResourceHints {
    return this.#reservations.podHints(pod);
  }

  /** Only reserves: `commit` has the plugins allocate. */
  allocate(pod: Pod, container: Container, hint: TopologyHint): void {
    this.#reservations.reserve(pod, container, hint);
  }

  release(uid: PodUid): void {
    this.#waits.forget(uid);
    if (this.#held.removePod(uid)) this.#checkpoint.save();
    // It may have been the last pod with unknown devices.
    if (!this.#records.isComplete) this.#waits.announceAll();
  }

  holders(): readonly PodUid[] {
    return this.#held.uids();
  }

  /** Why the pod is rejected; undefined if its devices are allocated and recorded. Rejects on abort. The caller releases. */
  commit(pod: Pod, signal: AbortSignal): ReturnType<DeviceCommits['commit']> {
    return this.#commits.commit(pod, signal);
  }

  /** The calls to plugins that the pod is waiting for, for /explain. */
  activities(uid: PodUid): ReturnType<DeviceCommits['activities']> {
    return this.#commits.activities(uid);
  }

  /** What the container gets of its devices. Called before every creation of the container. */
  grants(pod: Pod, container: Container, signal: AbortSignal): Promise<DeviceGrants> {
    return this.#commits.grants(pod, container, signal);
  }

  /** Whether admission of the pod has to wait for a device plugin. */
  waitingFor(pod: Pod): DeviceWait | undefined {
    const { clock, pods } = this.#deps;
    const missing = computeMissingDevices({
      pod,
      nowMs: clock.monotonic(),
      held: this.#held,
      inventory: this.#inventory,
      isKnown: (resource) => this.isDeviceResource(resource) || this.#mayBeForgotten(resource),
      isConnected: (resource) => this.#plugins.serving(resource) !== undefined,
      isRunning: (name) => pods.isRunning(podUid(pod), name),
      isWithheld: (resource) => this.#records.isWithheld(resource),
    });
    return this.#waits.check(podUid(pod), missing);
  }

  /** Whether the Node has the resource from a device plugin that the kubelet no longer knows of. It may have been advertised by hand. */
  #mayBeForgotten(resource: string): boolean {
    return this.#isForgotten && this.#deps.isAdvertised(resource);
  }

  /** Whether a device plugin has advertised this resource, or a container has devices of it. */
  isDeviceResource(resource: string): boolean {
    return this.#reservations.isKnown(resource);
  }

  nodeDevices(): ReturnType<DeviceInventory['amounts']> {
    return this.#inventory.amounts();
  }

  /** Whether the node was recreated: extended resources on its Node object are stale until their plugins register. */
  resetExtendedResources(): boolean {
    return this.#isNewNode;
  }

  devicesOf(uid: PodUid, containerName: string): readonly ResourceDevice[] {
    return devicesOf(this.#held, uid, containerName);
  }

  allocatableDevices(): readonly ResourceDevice[] {
    return allocatableDevices(this.#inventory);
  }

  /** allocatedResourcesStatus of a regular container. */
  statusOf(uid: PodUid, containerName: string): readonly ResourceStatus[] {
    return statusOf(this.#held, this.#inventory, uid, containerName);
  }

  #connected(resource: string): void {
    if (this.#inventory.get(resource) === undefined && this.#inventory.size >= mostResources)
      throw new KubeletError(
        'forbidden',
        'TooManyDeviceResources',
        `the kubelet knows ${mostResources} resources of device plugins, which is the most it allows`,
      );
    this.#inventory.connected(resource);
    this.#waits.announce(resource);
  }

  #listed(resource: string, devices: readonly PluginDevice[]): void {
    const changed = this.#inventory.list(resource, devices);
    this.#waits.announce(resource);
    if (changed === undefined) return;
    const uids = new Set(changed.flatMap((id) => this.#held.podsWith(resource, id)));
    for (const uid of uids) this.changed.push(uid);
  }

  #capacityChanged(): void {
    this.#checkpoint.save();
    this.#capacityChanges.announce();
  }

  async #stop(): Promise<void> {
    this.#plugins.stop();
    this.#inventory.stop();
    this.#capacityChanges.stop();
    this.#waits.stop();
    await this.#checkpoint.saved().catch(() => undefined);
    await this.#checkpoint.flush();
  }
}
