// Decides which images may go, in which order, and how much space is to be freed. Pure.
// Invariants: an image that is in use, pinned or kept is no candidate; nothing younger than the minimum age is removed, for
// whatever reason. Upstream: imagesInEvictionOrder, freeOldImages, freeSpace and GarbageCollect in image_gc_manager.go.
import type { ImageRecord, ListedImage } from './image-records.ts';

export interface ImageGcPolicy {
  /** At this usage of the image file system, in percent, images are removed … */
  readonly highThresholdPercent: number;
  /** … until it is down to this one. */
  readonly lowThresholdPercent: number;
  readonly minAgeMs: number;
  /** 0: no limit. */
  readonly maxAgeMs: number;
}

/** The policy that KubeletConfiguration sets, read from it each time. */
export function imageGcPolicy(
  config: {
    readonly imageGCHighThresholdPercent: number;
    readonly imageGCLowThresholdPercent: number;
    readonly imageMinimumGCAge: { readonly ms: number };
    readonly imageMaximumGCAge: { readonly ms: number };
  },
  gates: { readonly ImageMaximumGCAge: boolean },
): ImageGcPolicy {
  return {
    get highThresholdPercent() {
      return config.imageGCHighThresholdPercent;
    },
    get lowThresholdPercent() {
      return config.imageGCLowThresholdPercent;
    },
    get minAgeMs() {
      return config.imageMinimumGCAge.ms;
    },
    get maxAgeMs() {
      return gates.ImageMaximumGCAge ? config.imageMaximumGCAge.ms : 0;
    },
  };
}

export interface FsSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}

export interface SpaceGoal {
  readonly usagePercent: number;
  readonly bytes: number;
}

interface Moment {
  readonly nowMs: number;
  /** When the kubelet began to collect garbage. */
  readonly beganMs: number;
}

/** The images that may be removed, in order: those never used, then the least recently used; of these the longest known. */
export function computeCandidates(
  records: Iterable<ImageRecord>,
  inUse: ReadonlySet<string>,
  isKept: (image: ListedImage) => boolean,
): readonly ImageRecord[] {
  return [...records]
    .filter((image) => !inUse.has(image.key) && !image.pinned && !isKept(image))
    .toSorted((a, b) => usedMs(a) - usedMs(b) || a.firstDetectedMs - b.firstDetectedMs);
}

/** Finite, so that two images that were never used differ by 0. */
function usedMs({ lastUsedMs }: ImageRecord): number {
  return lastUsedMs ?? -Number.MAX_VALUE;
}

/**
 * The candidates that were unused for longer than the maximum age. None until the kubelet has been up for that long: it does not
 * know what was used before.
 */
export function computeAged(
  candidates: readonly ImageRecord[],
  { beganMs, nowMs }: Moment,
  policy: ImageGcPolicy,
): readonly ImageRecord[] {
  const { maxAgeMs } = policy;
  if (maxAgeMs === 0 || nowMs - beganMs <= maxAgeMs) return [];
  // differs from upstream: an image that was never used has the age since its detection, not an infinite one, and the minimum age
  // applies; otherwise an image just pulled can vanish before its container is created.
  return candidates.filter(
    (image) =>
      nowMs - (image.lastUsedMs ?? image.firstDetectedMs) > maxAgeMs && isOldEnough(image, nowMs, policy),
  );
}

/** The candidates that may be removed to free space. */
export function computeRemovable(
  candidates: readonly ImageRecord[],
  nowMs: number,
  policy: ImageGcPolicy,
): readonly ImageRecord[] {
  return candidates.filter(
    (image) =>
      !(image.lastUsedMs !== undefined && image.lastUsedMs >= nowMs) && isOldEnough(image, nowMs, policy),
  );
}

function isOldEnough(
  { firstDetectedMs }: ImageRecord,
  nowMs: number,
  { minAgeMs }: Pick<ImageGcPolicy, 'minAgeMs'>,
): boolean {
  return nowMs - firstDetectedMs >= minAgeMs;
}

/** What must be freed; undefined below the high threshold. The capacity is not 0. */
export function computeSpaceGoal(
  { availableBytes, capacityBytes }: FsSpace,
  { highThresholdPercent, lowThresholdPercent }: ImageGcPolicy,
): SpaceGoal | undefined {
  const capacity = BigInt(capacityBytes);
  const available = BigInt(Math.min(availableBytes, capacityBytes));
  const usagePercent = 100 - Number((available * 100n) / capacity);
  if (usagePercent < highThresholdPercent) return undefined;
  const bytes = Number((capacity * BigInt(100 - lowThresholdPercent)) / 100n - available);
  return { usagePercent, bytes };
}
