// What the kubelet needs of an image that the runtime has. Pure.
import type { Image } from '../api/cri/generated/runtime/v1/api.ts';

export interface PresentImage {
  /** The runtime's reference, for the container's config. */
  readonly ref: string;
  readonly uid: bigint | undefined;
  readonly username: string;
}

export function presentImage(image: Image): PresentImage {
  const username = image.username;
  // An image without a user runs as root.
  const uid = image.uid?.value ?? (username === '' ? 0n : undefined);
  return { ref: image.id, uid, username };
}
