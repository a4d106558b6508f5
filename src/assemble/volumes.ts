// The room of volumes: the kinds of volume this kubelet has, the manager over them and what keeps their files up to date.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { Allocatable } from '../api/pod/pod-fields.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { VolumeHost } from '../api/ports/volume-host.ts';
import type { VolumeStatsSource } from '../api/ports/volume-stats.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { VolumeMetrics } from '../metrics/volume-metrics.ts';
import { configMapKind } from '../volumes/config-map/config-map.ts';
import { supportsRecursiveReadOnly } from '../volumes/container/recursive-read-only.ts';
import { contentPlugin } from '../volumes/content/content-volume.ts';
import { ContentUpdates } from '../volumes/content-updates.ts';
import { DeviceLocks } from '../volumes/devices/device-locks.ts';
import { downwardApiKind } from '../volumes/downward-api/downward-api.ts';
import { emptyDirPlugin } from '../volumes/empty-dir/empty-dir.ts';
import { hostPathPlugin } from '../volumes/host-path/host-path.ts';
import { imagePlugin } from '../volumes/image/image.ts';
import type { VolumeLayout } from '../volumes/layout.ts';
import { localPlugin } from '../volumes/local/local.ts';
import { MountedVolumes } from '../volumes/mounted-volumes.ts';
import { nfsPlugin } from '../volumes/nfs/nfs.ts';
import { Orphans } from '../volumes/orphans.ts';
import type { VolumePlugin } from '../volumes/plugin.ts';
import { projectedKind } from '../volumes/projected/projected.ts';
import { secretKind } from '../volumes/secret/secret.ts';
import { VolumeStatsReader } from '../volumes/stats/volume-stats.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';

/** Between two looks for directories of pods that nobody knows. */
const orphansEveryMs = 30_000;
/** There where the kernel labels files. */
const seLinuxFile = '/sys/fs/selinux/enforce';

export interface VolumesInput {
  readonly rootDir: string;
  readonly syncFrequencyMs: number;
  /** How long a measurement of what volumes use is good. */
  readonly statsPeriodMs: number;
  /** Whether it is certain that a pod is neither wanted, nor ends, nor is on the runtime. */
  readonly isOrphan: (uid: PodUid) => boolean;
  /** Whether a pod's containers are being stopped, or have been. */
  readonly isEnding: (uid: PodUid) => boolean;
  /** Told after each round how many directories of unknown pods there were, and how many could not be cleared. */
  readonly onOrphans?: (found: number, failed: number) => void;
  readonly imageVolumes: boolean;
  /** Whether the file system may count what emptyDir volumes hold, where it can. */
  readonly countByProject: boolean;
  /** Instead of the kinds that there are. */
  readonly plugins?: readonly VolumePlugin[];
  readonly metrics: Pick<VolumeMetrics, 'observe' | 'countBy' | 'measured'>;
  readonly host: (podsDir: string) => VolumeHost;
  readonly objects: PodObjects;
  readonly events: EventSink;
  readonly cri: Pick<CriRuntime, 'status'>;
  readonly images: Pick<ImageManager, 'find' | 'ensure'>;
  /** What the node has for pods, by resource name. */
  readonly allocatable: () => Allocatable;
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

export function volumes(input: VolumesInput): Volumes {
  const { objects, events, clock, log } = input;
  const layout = { podsDir: `${input.rootDir}/pods`, pluginsDir: `${input.rootDir}/plugins` };
  const host = input.host(layout.podsDir);
  const mounts = new MountedVolumes();
  const observe = input.metrics.observe.bind(input.metrics);
  const plugins = input.plugins ?? volumePlugins(input, host, layout, mounts);
  const teardown = { host, layout, clock, observe, plugins, locks: new DeviceLocks() };
  const containers = {
    host,
    layout,
    clock,
    log,
    seLinux: async () => (await host.kindOf(seLinuxFile)) === 'file',
    recursiveReadOnly: (pod: Pod, signal: AbortSignal) =>
      supportsRecursiveReadOnly({ cri: input.cri, objects }, pod, signal),
    ensureImage: (...args: Parameters<typeof ensureImage> extends [unknown, ...infer Rest] ? Rest : never) =>
      ensureImage(input.images, ...args),
  };
  const { isEnding } = input;
  const manager = new VolumeManager({
    mounts,
    teardown,
    containers,
    objects,
    events,
    isEnding,
    observe,
    clock,
    log,
  });
  input.metrics.countBy(() => ({
    wanted: manager.wanted(),
    mounted: mounts.pods().flatMap((uid) => mounts.ofPod(uid).map(({ plugin }) => plugin.name)),
  }));
  const { syncFrequencyMs, statsPeriodMs: periodMs, isOrphan } = input;
  const updates = new ContentUpdates({
    manager,
    mounts,
    objects,
    syncFrequencyMs,
    clock,
    log,
    random: Math.random,
  });
  const orphans = new Orphans({
    teardown,
    isOrphan,
    everyMs: orphansEveryMs,
    onRound: input.onOrphans,
    clock,
    log,
  });
  const stats = new VolumeStatsReader({
    mounts,
    clock,
    log,
    periodMs,
    onMeasured: (source, seconds) => input.metrics.measured(source, seconds),
  });
  return { manager, mounts, stats, components: [updates, orphans] };
}

function volumePlugins(
  input: VolumesInput,
  host: VolumeHost,
  layout: VolumeLayout,
  mounts: MountedVolumes,
): readonly VolumePlugin[] {
  const { objects, events, clock, log, allocatable, countByProject } = input;
  const allocatableMemoryBytes = (): bigint => Quantity.fromJson(allocatable()['memory'] ?? '0').value();
  const own = { host, layout, allocatableMemoryBytes, events, clock, log };
  const kinds = [
    configMapKind(objects),
    secretKind(objects),
    downwardApiKind(allocatable),
    projectedKind({ objects, allocatable }),
  ];
  const isMountedElsewhere = mounts.isMountedElsewhere.bind(mounts);
  return [
    emptyDirPlugin({ ...own, countByProject }),
    hostPathPlugin({ host }),
    ...kinds.map((kind) => contentPlugin(own, kind)),
    localPlugin({ host, layout, events, clock, log, isMountedElsewhere }),
    nfsPlugin({ host, clock }),
    ...(input.imageVolumes ? [imagePlugin] : []),
  ];
}

async function ensureImage(
  images: VolumesInput['images'],
  pod: Pod,
  image: { readonly reference: string; readonly pullPolicy: string },
  signal: AbortSignal,
): Promise<string> {
  const container = { name: image.reference, image: image.reference, imagePullPolicy: image.pullPolicy };
  const found = await images.find(image.reference, signal);
  return (await images.ensure({ pod, container, sandboxConfig: {} }, found, signal)).ref;
}
