// Which images are in use. Pure. Upstream: detectImages and handleImageVolumes in image_gc_manager.go.
// Invariant: linear in the number of names; a name that no registry could serve is compared as it is.
import type { Pod } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import { fullImageName } from '../image-name.ts';
import type { ListedImage } from './image-records.ts';

/** The image of a container that the runtime lists, running or not. */
export interface ContainerImage {
  /** The runtime's ID of the image; with older runtimes another reference. */
  readonly ref: string;
  /** Empty if the runtime does not report it. */
  readonly handler: string;
}

interface Uses {
  readonly containers: readonly ContainerImage[];
  /** References, names or IDs of images that are in use with whatever handler. */
  readonly names: ReadonlySet<string>;
}

/** The keys of the images in use. */
export function computeInUse(images: readonly ListedImage[], uses: Uses): ReadonlySet<string> {
  const handlers = new Map<string, Set<string>>();
  for (const { handler, ref } of uses.containers) {
    const known = handlers.get(ref);
    if (known === undefined) handlers.set(ref, new Set([handler]));
    else known.add(handler);
  }
  const isRun = (image: ListedImage, name: string): boolean => {
    const found = handlers.get(name);
    // differs from upstream: a container without a handler protects the image of every handler, not only that of none.
    return found !== undefined && (found.has(image.handler) || found.has('') || image.handler === '');
  };
  const used = images.filter((image) =>
    allNames(image).some((name) => uses.names.has(name) || isRun(image, name)),
  );
  return new Set(used.map(({ key }) => key));
}

/** Whether one of these names is the image's. */
export function isNamed(image: ListedImage, names: ReadonlySet<string>): boolean {
  return allNames(image).some((name) => names.has(name));
}

// differs from upstream: upstream sees only containers that exist, so an image just pulled can vanish before its container is
// created from it.
/** The images of the containers and image volumes in the specs of these pods. */
export function wantedNames(pods: Iterable<Pod>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const pod of pods) {
    for (const { image } of allContainers(pod)) addName(names, image);
    for (const { image } of pod.spec?.volumes ?? []) addName(names, image?.reference);
  }
  return names;
}

/** As written, and in full, as runtimes list it. */
export function addName(names: Set<string>, name: string | undefined): void {
  if (name === undefined || name === '' || names.has(name)) return;
  names.add(name);
  try {
    names.add(fullImageName(name));
  } catch {
    // An ID, or not a name: compared as it is.
  }
}

const idPrefix = 'sha256:';

/** Everything that may refer to the image: ID with and without its algorithm, tags, digests. */
export function allNames({ id, names }: ListedImage): readonly string[] {
  return id.startsWith(idPrefix) ? [id, id.slice(idPrefix.length), ...names] : [id, ...names];
}
