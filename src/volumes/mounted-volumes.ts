// The volumes that are mounted, by pod. Invariant: the volume manager is the sole writer.
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';
import type { SetUpVolume, VolumePlugin, VolumeSpec } from './plugin.ts';

export interface MountedVolume extends SetUpVolume {
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  readonly mountedAtMs: number;
}

export class MountedVolumes implements Store {
  readonly storeName = 'MountedVolumes';
  readonly writer = 'volumes';
  /** Announces a pod whose volumes have changed, after the store was updated. */
  readonly changed = new Channel<PodUid>();
  readonly #pods = new Map<string, Map<string, MountedVolume>>();

  /** `name`: as in the pod's spec. */
  get(uid: PodUid, name: string): MountedVolume | undefined {
    return this.#pods.get(uid)?.get(name);
  }

  ofPod(uid: PodUid): readonly MountedVolume[] {
    return [...(this.#pods.get(uid)?.values() ?? [])];
  }

  pods(): readonly PodUid[] {
    return [...this.#pods.keys()].map(asPodUid);
  }

  /** Whether another pod on this node has this persistent volume mounted. */
  isMountedByOtherPod(persistentVolume: string, uid: string): boolean {
    return [...this.#pods].some(
      ([other, volumes]) =>
        other !== uid &&
        [...volumes.values()].some(({ spec }) => spec.persistent?.metadata?.name === persistentVolume),
    );
  }

  set(uid: PodUid, volume: MountedVolume): void {
    const volumes = this.#pods.get(uid) ?? new Map<string, MountedVolume>();
    this.#pods.set(uid, volumes.set(volume.spec.name, volume));
    this.changed.push(uid);
  }

  delete(uid: PodUid): void {
    if (this.#pods.delete(uid)) this.changed.push(uid);
  }
}
