// The room of volumes for tests: what a test does not speak of is quiet, empty or not asked for.
import { type Volumes, type VolumesInput, volumes } from '../assemble/volumes.ts';
import { silentLogger } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import { VolumeMetrics } from '../stats/volume-metrics.ts';

export function volumeRoom(
  input: Partial<VolumesInput> & Pick<VolumesInput, 'host' | 'objects' | 'clock'>,
): Volumes {
  return volumes({
    rootDir: '/root',
    syncFrequencyMs: 60_000,
    statsPeriodMs: 60_000,
    metrics: new VolumeMetrics(new Metrics()),
    isOrphan: () => false,
    isEnding: () => false,
    imageVolumes: false,
    countByProject: false,
    events: { pod: () => undefined, node: () => undefined },
    cri: { status: () => Promise.reject(new Error('not asked')) },
    images: {
      find: async () => undefined,
      ensure: async ({ container }) => ({ ref: `sha256:${container.image}`, uid: undefined, username: '' }),
    },
    allocatable: () => ({ cpu: '2', memory: '1Gi' }),
    log: silentLogger,
    ...input,
  });
}
