// The conditions of volumes, as their drivers last reported them in this process. Invariant: the health loop is the sole writer;
// the store is updated before a pod is announced; an empty list is a volume that was reported healthy.
import { isDeepStrictEqual } from 'node:util';
import type { VolumeHealthCondition } from '../../api/k8s/types.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { Channel } from '../../base/channel.ts';
import type { Store } from '../../base/store.ts';

interface Reported {
  readonly driver: string;
  readonly conditions: readonly VolumeHealthCondition[];
}

export class VolumeHealth implements Store {
  readonly storeName = 'VolumeHealth';
  readonly writer = 'volume-health';
  /** Announces a pod whose volumes have other conditions. */
  readonly changed = new Channel<PodUid>();
  readonly #pods = new Map<PodUid, Map<string, Reported>>();

  /** `volume`: as in the pod's spec. Undefined if nothing is known. */
  conditionsOf(uid: PodUid, volume: string): readonly VolumeHealthCondition[] | undefined {
    return this.#pods.get(uid)?.get(volume)?.conditions;
  }

  set(uid: PodUid, volumes: readonly string[], reported: Reported): void {
    const known = this.#pods.get(uid) ?? new Map<string, Reported>();
    const changed = volumes.filter((name) => !isDeepStrictEqual(known.get(name), reported));
    if (changed.length === 0) return;
    for (const name of changed) known.set(name, reported);
    this.#pods.set(uid, known);
    this.changed.push(uid);
  }

  /** The volumes of which the driver reported conditions. */
  unhealthy(driver: string): readonly { readonly uid: PodUid; readonly names: readonly string[] }[] {
    return [...this.#pods].flatMap(([uid, volumes]) => {
      const names = [...volumes].flatMap(([name, each]) =>
        each.driver === driver && each.conditions.length > 0 ? [name] : [],
      );
      return names.length === 0 ? [] : [{ uid, names }];
    });
  }

  /** Forgets the driver's volumes that are not in use any longer. What was reported of them to the API server stays there. */
  retain(driver: string, isInUse: (uid: PodUid, volume: string) => boolean): void {
    for (const [uid, volumes] of this.#pods) {
      for (const [name, each] of volumes)
        if (each.driver === driver && !isInUse(uid, name)) volumes.delete(name);
      if (volumes.size === 0) this.#pods.delete(uid);
    }
  }
}
