// The images of a node as its status lists them. Pure. Upstream: Images in pkg/kubelet/nodestatus and ByImageSize.
import type { Image } from '../api/generated/runtime/v1/api.ts';
import type { ContainerImage } from '../api/k8s.ts';

const maxNames = 5;

/** Largest first; `limit` is nodeStatusMaxImages, -1 for all. */
export function nodeImages(
  images: readonly Pick<Image, 'id' | 'size' | 'repoTags' | 'repoDigests'>[],
  limit: number,
): readonly ContainerImage[] {
  const sorted = images.toSorted((a, b) => {
    if (a.size !== b.size) return a.size > b.size ? -1 : 1;
    return a.id > b.id ? -1 : 1;
  });
  return sorted.slice(0, limit < 0 ? undefined : limit).map(({ repoDigests, repoTags, size }) => ({
    names: [...repoDigests, ...repoTags].slice(0, maxNames),
    sizeBytes: Number(size),
  }));
}
