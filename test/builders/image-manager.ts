// Builds an image manager for tests; by default without event recorder and credentials.
import type { CriImages } from '../../src/api/cri/runtime.ts';
import { type EventText, noEvents } from '../../src/api/ports/events.ts';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { ImageManager, type ImageManagerDeps } from '../../src/images/image-manager.ts';
import { SharedPulls } from '../../src/images/shared-pulls.ts';

export interface ManagerOver extends Partial<Omit<ImageManagerDeps, 'images' | 'pulls' | 'clock'>> {
  readonly images: Pick<CriImages, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly parallelPulls?: number;
  readonly pullQps?: number;
  readonly pullBurst?: number;
}

export function anImageManager(over: ManagerOver): ImageManager {
  const { clock, images, parallelPulls = 1, pullBurst = 10, pullQps = 0, ...deps } = over;
  const pulls = new SharedPulls({
    images,
    clock,
    log: silentLogger,
    limits: { parallelPulls, pullQps, pullBurst },
  });
  return new ImageManager({
    images,
    pulls,
    clock,
    credentials: { find: async () => ({ credentials: [], missingSecrets: [] }) },
    history: undefined,
    events: noEvents,
    log: silentLogger,
    metrics: { observePull: () => undefined, countEnsure: () => undefined },
    ...deps,
  });
}

/** Collects events as one line each: `Normal Pulled spec.containers{c} text`. */
export function collectEvents(): { readonly events: ImageManagerDeps['events']; readonly emitted: string[] } {
  const emitted: string[] = [];
  const line = ({ message, reason, type }: EventText, path = ''): number =>
    emitted.push([type, reason, path, message].filter((part) => part !== '').join(' '));
  return {
    emitted,
    events: { pod: (_, event, path) => void line(event, path), node: (event) => void line(event) },
  };
}
