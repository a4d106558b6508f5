// Volumes: the plugins, the volume manager and the usage statistics.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { Allocatable } from '../api/pod/pod-fields.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodCertificates } from '../api/ports/pod-certificates.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { VolumeHost } from '../api/ports/volume-host.ts';
import type { VolumeStatsSource } from '../api/ports/volume-stats.ts';
import { mergeChannels } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import { configMapKind } from '../volumes/config-map/config-map.ts';
import { contentPlugin } from '../volumes/content/content-volume.ts';
import { DeviceLocks } from '../volumes/devices/device-locks.ts';
import { UnusedDevices } from '../volumes/devices/unused-devices.ts';
import { downwardApiKind } from '../volumes/downward-api/downward-api.ts';
import { emptyDirPlugin } from '../volumes/empty-dir/empty-dir.ts';
import { hostPathPlugin } from '../volumes/host-path/host-path.ts';
import { imagePlugin } from '../volumes/image/image.ts';
import { localPlugin } from '../volumes/local/local.ts';
import { MountedVolumes } from '../volumes/mounted-volumes.ts';
import { nfsPlugin } from '../volumes/nfs/nfs.ts';
import type { VolumeOperationDeps } from '../volumes/operation-deps.ts';
import type { VolumePlugin } from '../volumes/plugin.ts';
import { projectedKind } from '../volumes/projected/projected.ts';
import { secretKind } from '../volumes/secret/secret.ts';
import type { LifecycleView } from '../volumes/set-up-volume.ts';
import { VolumeStatsReader } from '../volumes/stats/volume-stats.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';
import type { VolumeMetricsPort } from '../volumes/volume-metrics-port.ts';

/** Interval of the search for devices that no pod uses any more. */
const unusedDevicesEveryMs = 30_000;

export interface VolumesInput {
  readonly rootDir: string;
  readonly syncFrequencyMs: number;
  /** How long a measurement of the usage of volumes stays valid. */
  readonly statsPeriodMs: number;
  readonly gates: Pick<
    FeatureGates,
    'ImageVolume' | 'LocalStorageCapacityIsolationFSQuotaMonitoring' | 'UserNamespacesSupport'
  >;
  /** Replaces the built-in plugins. */
  readonly plugins?: readonly VolumePlugin[];
  readonly metrics: VolumeMetricsPort;
  readonly host: (podsDir: string) => VolumeHost;
  readonly objects: PodObjects;
  readonly certificates: PodCertificates;
  readonly lifecycles: LifecycleView;
  readonly events: EventSink;
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
  /** In the order in which they are started. */
  readonly components: readonly Component[];
}

export function assembleVolumes(input: VolumesInput): Volumes {
  const { certificates, clock, cri, events, lifecycles, log, metrics, objects, random, syncFrequencyMs } =
    input;
  const layout = { podsDir: `${input.rootDir}/pods`, pluginsDir: `${input.rootDir}/plugins` };
  const host = input.host(layout.podsDir);
  const mounts = new MountedVolumes();
  const plugins = input.plugins ?? volumePlugins(input, { host, layout, mounts });
  const operations = { host, layout, plugins, locks: new DeviceLocks(), metrics, clock };
  const manager = new VolumeManager({
    operations,
    mounts,
    containers: { host, layout, cri, objects, clock, log },
    objects,
    lifecycles,
    events,
    updates: { syncFrequencyMs, random, changed: mergeChannels(objects.changed, certificates.changed) },
    log,
  });
  const unused = new UnusedDevices({ operations, log, everyMs: unusedDevicesEveryMs });
  const stats = new VolumeStatsReader({ mounts, metrics, periodMs: input.statsPeriodMs, clock, log });
  return { manager, mounts, stats, components: [manager, stats, unused] };
}

function volumePlugins(
  { allocatable, certificates, clock, events, gates, log, objects }: VolumesInput,
  { host, layout, mounts }: Pick<VolumeOperationDeps, 'host' | 'layout'> & { mounts: MountedVolumes },
): readonly VolumePlugin[] {
  const directories = { host, layout, allocatable };
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
    ...(gates.ImageVolume ? [imagePlugin] : []),
  ];
}
