// Lists the images on the node and finds out which of them are in use. Upstream: detectImages in image_gc_manager.go.
// Invariants: images are listed before containers, and containers before the pods' specs are read, so that nothing that uses a
// listed image is missed; a container that vanishes meanwhile is no failure; every call has a deadline.
import type { CriImages, CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import { type ListedImage, listedImage } from './image-records.ts';
import { addName, type ContainerImage, computeInUse, wantedNames } from './images-in-use.ts';

export interface DetectImagesDeps {
  readonly images: Pick<CriImages, 'listImages'>;
  readonly runtime: Pick<CriRuntime, 'listContainers' | 'containerStatus'>;
  readonly observed: { all(): ReadonlyMap<string, ObservedPod> };
  /** Pods that run or are about to start. */
  readonly active: { all(): readonly Pod[] };
  /** The image of sandboxes in the runtime's configuration; empty if unknown. */
  readonly sandboxImage: () => Promise<string>;
  /** Whether the same image counts once per runtime handler (gate RuntimeClassInImageCriApi). */
  readonly byHandler: boolean;
  readonly clock: Clock;
}

interface DetectedImages {
  /** Every image on the node. */
  readonly images: readonly ListedImage[];
  /** Keys of those in use. */
  readonly inUse: ReadonlySet<string>;
}

const callDeadlineMs = 20_000;

export async function detectImages(deps: DetectImagesDeps, signal: AbortSignal): Promise<DetectedImages> {
  const { active, byHandler, clock, images, runtime, sandboxImage } = deps;
  const call = <T>(what: string, fn: (inner: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline({ clock, ms: callDeadlineMs, signal, what }, fn);
  const { images: listed } = await call('list images', (inner) => images.listImages({}, { signal: inner }));
  const { containers } = await call('list containers', (inner) =>
    runtime.listContainers({}, { signal: inner }),
  );
  const mounts = await imageMounts(deps, containers, call);
  const sandbox = await call('sandbox image', () => sandboxImage());
  const names = new Set(wantedNames(active.all()));
  for (const mount of mounts) addName(names, mount);
  // differs from upstream: also protected on runtimes that do not report it as pinned, such as containerd 1.6.
  addName(names, sandbox);
  const ran = containers.map(
    ({ image, imageId, imageRef }): ContainerImage => ({
      ref: imageId || imageRef || image?.image || '',
      handler: byHandler ? (image?.runtimeHandler ?? '') : '',
    }),
  );
  const all = listed.map((each) => listedImage(each, byHandler));
  return { images: all, inUse: computeInUse(all, { containers: ran, names }) };
}

// differs from upstream: the mounts of a container that was inspected are known; upstream inspects every container at every run,
// and one that was removed meanwhile fails the run.
/** The images that containers mount. */
async function imageMounts(
  { observed, runtime }: DetectImagesDeps,
  containers: readonly { readonly id: string }[],
  call: <T>(what: string, fn: (inner: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<readonly string[]> {
  const known = new Map<string, readonly string[]>();
  for (const pod of observed.all().values()) {
    for (const each of pod.containers) known.set(each.id, each.imageMounts ?? []);
  }
  const mounted: string[] = [];
  for (const { id } of containers) {
    const seen = known.get(id);
    if (seen !== undefined) {
      mounted.push(...seen);
      continue;
    }
    const answer = await call('container status', (inner) =>
      runtime.containerStatus({ containerId: id }, { signal: inner }),
    ).catch((err: unknown) => {
      if (isKind(err, 'not-found')) return undefined;
      throw err;
    });
    mounted.push(...(answer?.status?.mounts ?? []).flatMap(({ image }) => image?.image || []));
  }
  return mounted;
}
