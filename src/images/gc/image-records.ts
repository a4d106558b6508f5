// What the kubelet knows of each image on the node: since when, last used when. Pure.
// Invariants: times are monotonic, so that a step of the clock ages no image; an image that is gone loses its record; all images
// are new when the kubelet starts. Upstream: imageRecord and detectImages in image_gc_manager.go.
import type { Image } from '../../api/cri/generated/runtime/v1/api.ts';

/** An image as the runtime lists it. */
export interface ListedImage {
  /** The ID, or `ID,handler` if records are kept by runtime handler and the runtime names one. */
  readonly key: string;
  readonly id: string;
  readonly handler: string;
  /** Tags and digests. */
  readonly names: readonly string[];
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

export interface ImageRecord extends ListedImage {
  readonly firstDetectedMs: number;
  /** Undefined if it was never seen in use. */
  readonly lastUsedMs: number | undefined;
}

export function listedImage(image: Image, byHandler: boolean): ListedImage {
  const handler = byHandler ? (image.spec?.runtimeHandler ?? '') : '';
  return {
    key: imageKey(image.id, handler),
    id: image.id,
    handler,
    names: [...image.repoTags, ...image.repoDigests],
    sizeBytes: Number(image.size),
    pinned: image.pinned,
  };
}

function imageKey(id: string, handler: string): string {
  return handler === '' ? id : `${id},${handler}`;
}

/** The records after a detection at `nowMs`, by key. `inUse` holds the keys of the images in use. */
export function updateRecords(
  before: ReadonlyMap<string, ImageRecord>,
  images: readonly ListedImage[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): ReadonlyMap<string, ImageRecord> {
  const after = new Map<string, ImageRecord>();
  for (const image of images) {
    const { key } = image;
    const known = before.get(key);
    const twin = after.get(key);
    after.set(key, {
      ...image,
      // differs from upstream: of two entries with the same ID, one that is pinned protects both.
      pinned: image.pinned || twin?.pinned === true,
      names: twin === undefined ? image.names : [...twin.names, ...image.names],
      firstDetectedMs: known?.firstDetectedMs ?? nowMs,
      lastUsedMs: inUse.has(key) ? nowMs : known?.lastUsedMs,
    });
  }
  return after;
}
