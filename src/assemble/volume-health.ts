// The health of CSI volumes and of their storage, with the gate CSIVolumeHealth.
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { VolumeHealthLoop } from '../volumes/health/volume-health-loop.ts';
import { VolumeHealth } from '../volumes/health/volume-health-store.ts';
import type { CsiRoom } from './csi.ts';
import type { AssembleInput } from './input.ts';
import type { Volumes } from './volumes.ts';

interface VolumeHealthRooms {
  readonly csi: CsiRoom;
  readonly volumes: Volumes;
  readonly metrics: Pick<KubeletMetrics, 'storageHealth'>;
}

interface VolumeHealthRoom {
  /** Undefined: the gate is off. */
  readonly store: VolumeHealth | undefined;
  readonly components: readonly Component[];
}

type VolumeHealthInput = Pick<AssembleInput, 'clock' | 'config' | 'flags' | 'gates' | 'log' | 'random'>;

export function assembleVolumeHealth(
  { clock, config, flags, gates, log, random }: VolumeHealthInput,
  { csi, metrics, volumes }: VolumeHealthRooms,
): VolumeHealthRoom {
  if (!gates.CSIVolumeHealth) return { store: undefined, components: [] };
  const store = new VolumeHealth();
  const loop = new VolumeHealthLoop({
    drivers: csi.drivers,
    volumes: volumes.manager,
    layout: { podsDir: `${flags.rootDir}/pods`, pluginsDir: `${flags.rootDir}/plugins` },
    health: store,
    csiNode: csi.storageHealth,
    metrics: metrics.storageHealth,
    get periodMs() {
      return config.volumeStatsAggPeriod.ms;
    },
    random,
    clock,
    log: log.with({ component: 'volume-health' }),
  });
  return { store, components: [loop] };
}
