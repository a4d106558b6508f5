// Keeps the volumes of running pods up to date: their content when an object changes and at the latest every syncFrequency, and
// their size when their claim has grown. Upstream: the remounts of the reconciler, ExpandInUseVolume.
// Invariants: one update per pod at a time; a volume that cannot be updated stays as it is; a pod whose volumes are being
// unmounted is not updated.
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { LoopLoad } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { MountedVolume, MountedVolumes } from './mounted-volumes.ts';
import type { VolumeSpec } from './plugin.ts';
import type { PodMounts } from './pod-mounts.ts';
import { isTerminating, type LifecycleView, type VolumeSetUp } from './set-up-volume.ts';

interface VolumeUpdatesDeps {
  readonly pods: ReadonlyMap<PodUid, PodMounts>;
  /** The volume manager is its writer; this is a part of it. */
  readonly mounts: Pick<MountedVolumes, 'ofPod' | 'set'>;
  readonly setUp: Pick<VolumeSetUp, 'update' | 'grow'>;
  readonly lifecycles: LifecycleView;
  readonly timing: {
    readonly syncFrequencyMs: number;
    /** In [0, 1). */
    readonly random: () => number;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** Pods whose volumes are updated in parallel. */
const parallel = 8;

export class VolumeUpdates {
  readonly #deps: VolumeUpdatesDeps;
  readonly #queue: KeyedQueue<PodUid>;

  constructor(deps: VolumeUpdatesDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel,
      run: (uid) => this.#update(uid),
      backoff: { initialMs: 500, maxMs: 60_000, jitter: 0.1 },
      onError: (uid, err, retryInMs) =>
        deps.log.v(2).info('Failed to update volumes', { podUID: uid, retryInMs, err }),
    });
  }

  load(): LoopLoad {
    return this.#queue.load();
  }

  start(): void {
    this.#queue.start();
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  /** Something that the pod's volumes come from has changed. */
  poke(uid: PodUid): void {
    this.#queue.add(uid);
  }

  /** The pod's volumes have changed. Up to a fifth earlier than syncFrequency, so that the updates of all pods do not coincide. */
  schedule(uid: PodUid): void {
    const { mounts, timing } = this.#deps;
    if (mounts.ofPod(uid).some((volume) => volume.plugin.needsRefresh(volume.spec) || mayGrow(volume)))
      this.#queue.addAfter(uid, timing.syncFrequencyMs * (1 - 0.2 * timing.random()));
    else this.#queue.forget(uid);
  }

  // differs from upstream: a terminating pod is updated too, so that its token stays valid as long as the pod runs.
  async #update(uid: PodUid): Promise<void> {
    const { lifecycles, mounts, pods, setUp } = this.#deps;
    const own = pods.get(uid);
    if (own === undefined || own.isClosed) return this.schedule(uid);
    const volumes = mounts.ofPod(uid);
    const stale = volumes.filter(({ plugin, spec }) => plugin.needsRefresh(spec));
    const results = await Promise.allSettled(
      stale.map((volume) => own.attempt(volume.spec.name, () => setUp.update(own, volume))),
    );
    if (!isTerminating(lifecycles, uid))
      await Promise.all(volumes.filter(mayGrow).map((volume) => this.#grow(own, volume)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && !own.isClosed && !isTerminating(lifecycles, uid)) throw failed.reason;
    this.schedule(uid);
  }

  /** Never rejects: a claim that cannot be read is read again by the next update. */
  async #grow(own: PodMounts, volume: MountedVolume): Promise<void> {
    const { log, mounts, setUp } = this.#deps;
    const uid = podUid(own.pod);
    try {
      const { spec } = await setUp.grow(own, volume);
      if (own.isClosed || isSameClaim(spec, volume.spec)) return;
      mounts.set(uid, { ...volume, spec });
    } catch (err) {
      if (own.isClosed) return;
      const { name } = volume.spec;
      log.v(2).info('Failed to read the claim of a mounted volume', { podUID: uid, volume: name, err });
    }
  }
}

/** Whether the node has a part in the expansion of the volume. */
function mayGrow({ plugin, spec }: MountedVolume): boolean {
  return (
    spec.claim !== undefined && plugin.expansion !== undefined && plugin.expansion.applies?.(spec) !== false
  );
}

function isSameClaim(a: VolumeSpec, b: VolumeSpec): boolean {
  const versions = ({ claim, persistent }: VolumeSpec): string =>
    [claim, persistent].map((each) => each?.metadata?.resourceVersion ?? '').join(' ');
  return versions(a) === versions(b);
}
