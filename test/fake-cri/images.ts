// The image store of the fake runtime and the registry it pulls from.
// Invariants: an image is found by its tags, digests and ID; removing it by any of them removes the image.
import { createHash } from 'node:crypto';
import type {
  Image,
  ImageFsInfoResponse,
  ImageStatusResponse,
  ListImagesResponse,
  PullImageRequest,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { FakeImage, FakeImageSpec } from './image-spec.ts';
import { type FakeReference, parseReference } from './reference.ts';
import { notFound, unknownError } from './rpc-error.ts';
import type { FakeState } from './state.ts';

/** The mount point that ImageFsInfo reports. */
const imageFilesystem = '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs';

export class FakeImages {
  readonly #state: FakeState;
  readonly #images = new Map<string, FakeImage>();
  readonly #registry = new Map<string, FakeImageSpec>();

  constructor(state: FakeState) {
    this.#state = state;
  }

  /** Puts an image into the store, as an import does. */
  add(spec: FakeImageSpec, digests: readonly string[] = []): FakeImage {
    const { canonical } = parseReference(spec.name);
    const id = `sha256:${sha256(JSON.stringify(spec))}`;
    // A tag belongs to the image that was tagged last.
    for (const [other, image] of this.#images) {
      if (other !== id && image.tags.includes(canonical)) {
        this.#images.set(other, { ...image, tags: image.tags.filter((tag) => tag !== canonical) });
      }
    }
    const known = this.#images.get(id);
    const image: FakeImage = {
      id,
      spec,
      tags: [...new Set([...(known?.tags ?? []), canonical])],
      digests: [...new Set([...(known?.digests ?? []), ...digests])],
    };
    this.#images.set(id, image);
    return image;
  }

  /** Makes an image pullable. */
  publish(spec: FakeImageSpec): void {
    this.#registry.set(parseReference(spec.name).canonical, spec);
  }

  /** Finds an image by name, digest, ID or ID prefix. */
  find(text: string): FakeImage | undefined {
    if (text === '') throw unknownError('can not resolve "" locally: ambiguous digest string');
    const id = text.replace(/^sha256:/, '');
    if (/^[0-9a-f]+$/.test(id)) {
      const found = [...this.#images.values()].filter((image) => image.id.startsWith(`sha256:${id}`));
      if (found.length === 1) return found[0];
    }
    const canonical = tryReference(text)?.canonical;
    if (canonical === undefined) return undefined;
    return [...this.#images.values()].find(
      (image) => image.tags.includes(canonical) || image.digests.includes(canonical),
    );
  }

  pull(request: PullImageRequest): string {
    const text = request.image?.image ?? '';
    const { canonical, name } = parseReference(text);
    const spec = this.#registry.get(canonical);
    if (spec === undefined) {
      throw notFound(
        `failed to pull and unpack image "${canonical}": failed to resolve reference "${canonical}": ${canonical}: not found`,
      );
    }
    return this.add(spec, [`${name}@sha256:${sha256(`manifest of ${JSON.stringify(spec)}`)}`]).id;
  }

  status(text: string): ImageStatusResponse {
    const image = this.find(text);
    return { image: image === undefined ? undefined : toImage(image), info: {} };
  }

  /** Ignores the filter, as containerd does. */
  list(): ListImagesResponse {
    return { images: [...this.#images.values()].map(toImage) };
  }

  remove(text: string): void {
    const image = this.find(text);
    if (image !== undefined) this.#images.delete(image.id);
  }

  /** The image as it is in the store now: its tags may have moved since a container was created from it. */
  current(image: FakeImage): FakeImage | undefined {
    return this.#images.get(image.id);
  }

  fsInfo(): ImageFsInfoResponse {
    const usedBytes = [...this.#images.values()].reduce((sum, image) => sum + (image.spec.sizeBytes ?? 0), 0);
    const usage = {
      timestamp: this.#state.nowNs(),
      fsId: { mountpoint: imageFilesystem },
      usedBytes: { value: BigInt(usedBytes) },
      inodesUsed: { value: BigInt(this.#images.size * 100) },
    };
    return { imageFilesystems: [usage], containerFilesystems: [] };
  }
}

function toImage(image: FakeImage): Image {
  const { user = '', sizeBytes = 2_000_000, pinned = false } = image.spec;
  const [owner = ''] = user.split(':');
  const isNumber = /^\d+$/.test(owner);
  return {
    id: image.id,
    repoTags: [...image.tags],
    repoDigests: [...image.digests],
    size: BigInt(sizeBytes),
    uid: isNumber ? { value: BigInt(owner) } : undefined,
    username: isNumber ? '' : owner,
    spec: undefined,
    pinned,
  };
}

function tryReference(text: string): FakeReference | undefined {
  try {
    return parseReference(text);
  } catch {
    return undefined;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
