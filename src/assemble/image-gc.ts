// Garbage collection of images.
import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import { imageGcPolicy } from '../images/gc/compute-removals.ts';
import { imageFsReader } from '../images/gc/image-fs.ts';
import { ImageGc, type ImageGcDeps } from '../images/gc/image-gc.ts';
import type { ImageMetrics } from '../metrics/image-metrics.ts';
import { sandboxImage } from '../stats/machine-info.ts';
import type { AssembleInput, StatsEdge } from './input.ts';

interface ImageGcRooms {
  readonly cri: Pick<CriImages, 'imageFsInfo' | 'listImages' | 'removeImage'> &
    Pick<CriRuntime, 'containerStatus' | 'listContainers' | 'status'>;
  readonly active: ImageGcDeps['active'];
  readonly observed: ImageGcDeps['observed'];
  readonly history: ImageGcDeps['history'];
  readonly host: Pick<StatsEdge['host'], 'space'>;
  readonly events: EventSink;
  readonly metrics: ImageMetrics;
}

export function assembleImageGc(
  {
    clock,
    config,
    flags,
    gates,
    log,
    tracer,
  }: Pick<AssembleInput, 'clock' | 'config' | 'flags' | 'gates' | 'log' | 'tracer'>,
  { active, cri, events, history, host, metrics, observed }: ImageGcRooms,
): ImageGc {
  return new ImageGc({
    images: cri,
    runtime: cri,
    active,
    observed,
    history,
    sandboxImage: sandboxImage(cri),
    fs: imageFsReader({ images: cri, space: (path) => host.space(path), clock }),
    policy: imageGcPolicy(config, gates),
    keep: flags.imageGcKeep,
    // The gate RuntimeClassInImageCriApi cannot be enabled yet.
    byHandler: false,
    events,
    metrics,
    clock,
    log: log.with({ component: 'image-gc' }),
    tracer,
  });
}
