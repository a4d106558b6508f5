// Volumes: the plugins, the volume manager and the usage statistics.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { Allocatable } from '../api/pod/pod-fields.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { CsiDrivers } from '../api/ports/csi.ts';
import type { EventSink, ObjectEvents } from '../api/ports/events.ts';
import type { HostDevices, HostPrograms } from '../api/ports/host-programs.ts';
import type { PodCertificates } from '../api/ports/pod-certificates.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { StorageObjects } from '../api/ports/storage-objects.ts';
import type { VolumeHost } from '../api/ports/volume-host.ts';
import type { VolumeStatsSource } from '../api/ports/volume-stats.ts';
import { mergeChannels } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { NodeAttachments } from '../volumes/attach/node-attachments.ts';
import { configMapKind } from '../volumes/config-map/config-map.ts';
import { contentPlugin } from '../volumes/content/content-volume.ts';
import { csiPlugin } from '../volumes/csi/csi.ts';
import { DeviceLocks } from '../volumes/devices/device-locks.ts';
import { DeviceReleases } from '../volumes/devices/device-releases.ts';
import { DeviceUsers } from '../volumes/devices/device-users.ts';
import { downwardApiKind } from '../volumes/downward-api/downward-api.ts';
import { emptyDirPlugin } from '../volumes/empty-dir/empty-dir.ts';
import { VolumeExpander } from '../volumes/expansion/volume-expander.ts';
import { fcPlugin } from '../volumes/fc/fc.ts';
import { FlexDrivers } from '../volumes/flex-volume/drivers.ts';
import { flexVolumePlugin } from '../volumes/flex-volume/flex-volume.ts';
import { gitRepoPlugin } from '../volumes/git-repo/git-repo.ts';
import { hostPathPlugin } from '../volumes/host-path/host-path.ts';
import { imagePlugin } from '../volumes/image/image.ts';
import { iscsiPlugin } from '../volumes/iscsi/iscsi.ts';
import { localPlugin } from '../volumes/local/local.ts';
import { MountedVolumes } from '../volumes/mounted-volumes.ts';
import { nfsPlugin } from '../volumes/nfs/nfs.ts';
import type { VolumeOperationDeps } from '../volumes/operation-deps.ts';
import type { VolumePlugin } from '../volumes/plugin.ts';
import { projectedKind } from '../volumes/projected/projected.ts';
import { secretKind } from '../volumes/secret/secret.ts';
import { isSeLinuxEnabled } from '../volumes/selinux.ts';
import type { LifecycleView } from '../volumes/set-up-volume.ts';
import { VolumeStatsReader } from '../volumes/stats/volume-stats.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';
import type { VolumeMetricsPort } from '../volumes/volume-metrics-port.ts';
import type { AssembleInput } from './input.ts';

export interface VolumesInput {
  readonly rootDir: string;
  /** Read whenever it is used. */
  readonly syncFrequencyMs: number;
  /** Read whenever it is used: how long a measurement of the usage of volumes stays valid. */
  readonly statsPeriodMs: number;
  readonly gates: Pick<
    FeatureGates,
    | 'ImageVolume'
    | 'LocalStorageCapacityIsolationFSQuotaMonitoring'
    | 'SELinuxMount'
    | 'UserNamespacesSupport'
  >;
  /** Replaces the built-in plugins. */
  readonly plugins?: readonly VolumePlugin[];
  readonly metrics: VolumeMetricsPort;
  readonly host: (podsDir: string) => VolumeHost;
  readonly objects: PodObjects;
  readonly storage: StorageObjects;
  /** The registered CSI drivers. */
  readonly drivers: CsiDrivers;
  readonly nodeName: string;
  /** Programs and devices of the host, and the FlexVolume drivers that are installed on it. */
  readonly programs: HostPrograms;
  readonly devices: HostDevices;
  readonly flexDrivers: FlexDrivers;
  readonly certificates: PodCertificates;
  readonly lifecycles: LifecycleView;
  /** Undefined on a node without an API server. */
  readonly attachments?: NodeAttachments | undefined;
  /** Rejects a pod that can never get its volumes on this node. */
  readonly reject: (uid: PodUid, refusal: { readonly reason: string; readonly message: string }) => void;
  readonly events: EventSink & ObjectEvents;
  readonly cri: Pick<CriRuntime, 'status'>;
  /** The node's allocatable resources, by name. */
  readonly allocatable: () => Allocatable;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Volumes {
  readonly manager: VolumeManager;
  readonly mounts: MountedVolumes;
  readonly stats: VolumeStatsSource;
  /** What wakes its components, for docs/wiring.md. */
  readonly sources: Readonly<Record<string, object>>;
  /** In the order in which they are started. */
  readonly components: readonly Component[];
}

export function assembleVolumes(input: VolumesInput): Volumes {
  const { certificates, clock, cri, events, lifecycles, log, metrics, objects, random } = input;
  const layout = { podsDir: `${input.rootDir}/pods`, pluginsDir: `${input.rootDir}/plugins` };
  const host = input.host(layout.podsDir);
  const mounts = new MountedVolumes();
  const plugins = input.plugins ?? volumePlugins(input, { host, layout, mounts });
  const users = new DeviceUsers({ host, layout, plugins });
  const operations = { host, layout, plugins, locks: new DeviceLocks(), users, metrics, clock };
  const releases = new DeviceReleases({ operations, log });
  const claims = {
    persistentVolumeClaim: objects.persistentVolumeClaim.bind(objects),
    patchClaimStatus: input.storage.patchClaimStatus.bind(input.storage),
  };
  const manager = new VolumeManager({
    operations,
    mounts,
    containers: { host, layout, cri, objects, clock, log },
    objects,
    lifecycles,
    attachments: input.attachments,
    expander: new VolumeExpander({ claims, clock, mounts, events, metrics, log }),
    releases,
    reject: input.reject,
    events,
    updates: {
      get syncFrequencyMs() {
        return input.syncFrequencyMs;
      },
      random,
      changed: mergeChannels(objects.changed, certificates.changed),
    },
    log,
  });
  const stats = new VolumeStatsReader({
    mounts,
    metrics,
    get periodMs() {
      return input.statsPeriodMs;
    },
    clock,
    log,
  });
  const sources = {
    volumes: manager,
    volumesInUse: manager.inUse,
    deviceUsers: users,
    flexVolumeDrivers: input.flexDrivers,
  };
  return { manager, mounts, stats, sources, components: [input.flexDrivers, manager, stats, releases] };
}

export function assembleFlexDrivers({
  clock,
  config,
  edges,
  log,
}: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'log'>): FlexDrivers {
  const directory = config.volumePluginDir;
  const own = log.with({ component: 'flex-volume' });
  const { flexDrivers, hostPrograms: programs } = edges;
  return new FlexDrivers({ directory, files: flexDrivers(directory, own), programs, clock, log: own });
}

function volumePlugins(
  {
    allocatable,
    attachments,
    certificates,
    clock,
    devices,
    drivers,
    events,
    flexDrivers,
    gates,
    log,
    nodeName,
    objects,
    programs,
    storage,
  }: VolumesInput,
  { host, layout, mounts }: Pick<VolumeOperationDeps, 'host' | 'layout'> & { mounts: MountedVolumes },
): readonly VolumePlugin[] {
  const directories = { host, layout, allocatable };
  const disks = { host, layout, programs, devices, events, clock, log };
  return [
    emptyDirPlugin({
      ...directories,
      events,
      clock,
      log,
      // Quota projects are safe only in user namespaces: a user of the host can move files out of its project.
      countByProject: gates.LocalStorageCapacityIsolationFSQuotaMonitoring && gates.UserNamespacesSupport,
    }),
    hostPathPlugin({ host }),
    contentPlugin(directories, configMapKind(objects)),
    contentPlugin(directories, secretKind(objects)),
    contentPlugin(directories, downwardApiKind(allocatable)),
    contentPlugin(directories, projectedKind({ objects, certificates, allocatable })),
    localPlugin({ host, layout, mounts, events, clock, log }),
    nfsPlugin({ host, clock }),
    gitRepoPlugin,
    iscsiPlugin({ ...disks, storage }),
    fcPlugin(disks),
    flexVolumePlugin({
      host,
      layout,
      drivers: flexDrivers,
      programs,
      secrets: storage,
      events,
      clock,
      log,
      attach: { isByKubelet: attachments?.byController !== true, nodeName },
    }),
    csiPlugin({
      ownership: { host, events, clock, log },
      layout,
      drivers,
      storage,
      objects,
      nodeName,
      seLinux: {
        isEnabled: () => isSeLinuxEnabled(host),
        everyAccessMode: gates.SELinuxMount,
      },
    }),
    ...(gates.ImageVolume ? [imagePlugin] : []),
  ];
}
