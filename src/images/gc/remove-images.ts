// Removes images one after the other until enough is freed. Upstream: freeSpace and freeImage in image_gc_manager.go.
// Invariants: a removal that fails or hangs does not keep the others from being tried; an image that a pod wants meanwhile stays;
// a runtime that leaves several removals unanswered is given up until the next run.
import type { CriImages } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { isAbortOf, isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { ImageRecord } from './image-records.ts';
import { isNamed, wantedNames } from './images-in-use.ts';

export type RemovalReason = 'age' | 'space';

export interface RemoveImagesDeps {
  readonly images: Pick<CriImages, 'removeImage'>;
  readonly active: { all(): readonly Pod[] };
  readonly metrics: { countCollected(reason: RemovalReason): void };
  readonly clock: Clock;
  readonly log: Logger;
}

interface Removed {
  readonly removed: readonly ImageRecord[];
  readonly freedBytes: number;
  readonly failures: readonly unknown[];
}

/** The runtime deletes the layers before it answers. */
const removeDeadlineMs = 120_000;
const mostTimeouts = 3;

/** Removes images in this order until `goalBytes` are freed. Rejects only on abort. */
export async function removeImages(
  { active, clock, images, log, metrics }: RemoveImagesDeps,
  candidates: readonly ImageRecord[],
  { goalBytes, reason }: { readonly goalBytes: number; readonly reason: RemovalReason },
  signal: AbortSignal,
): Promise<Removed> {
  const removed: ImageRecord[] = [];
  const failures: unknown[] = [];
  let freedBytes = 0;
  let timeouts = 0;
  for (const image of candidates) {
    if (freedBytes >= goalBytes || timeouts >= mostTimeouts) break;
    // A pod that wants it may have come since the detection.
    if (isNamed(image, wantedNames(active.all()))) continue;
    const { handler: runtimeHandler, id, sizeBytes } = image;
    try {
      await withDeadline({ clock, ms: removeDeadlineMs, signal, what: `remove image ${id}` }, (inner) =>
        images.removeImage({ image: { image: id, runtimeHandler } }, { signal: inner }),
      );
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      if (isKind(err, 'timeout')) timeouts += 1;
      failures.push(err);
      log.error('Failed to remove image', { imageID: id, runtimeHandler, err });
      continue;
    }
    removed.push(image);
    freedBytes += sizeBytes;
    metrics.countCollected(reason);
    log.info('Removed image', { imageID: id, size: sizeBytes, runtimeHandler, reason });
  }
  return { removed, freedBytes, failures };
}
