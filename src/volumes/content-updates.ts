// Keeps the files of running pods equal to what they come from: as soon as an object is told to have changed, and every
// syncFrequency at the latest, which also brings renewed tokens. Upstream: the reconciler's remounts on each pod sync.
// Invariant: a pod is refreshed by one run at a time; failures are tried again with a back-off of their own.

import type { PodUid } from '../api/pod/pod-ref.ts';
import type { ChangedObject } from '../api/ports/pod-objects.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { MountedVolumes } from './mounted-volumes.ts';
import type { VolumeManager } from './volume-manager.ts';

interface ContentUpdatesDeps {
  readonly manager: Pick<VolumeManager, 'refresh' | 'objectChanged' | 'podChanged' | 'stop'>;
  readonly mounts: Pick<MountedVolumes, 'ofPod' | 'changed'>;
  readonly objects: {
    readonly changed: Subscribable<ChangedObject>;
  };
  readonly syncFrequencyMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

const parallel = 8;

export class ContentUpdates implements Component {
  readonly name = 'volumes';
  readonly #deps: ContentUpdatesDeps;
  readonly #queue: KeyedQueue<PodUid>;

  constructor(deps: ContentUpdatesDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel,
      run: (uid) => this.#refresh(uid),
      backoff: { initialMs: 500, maxMs: 60_000, jitter: 0.1 },
      onError: (uid, err, retryInMs) =>
        deps.log.v(2).info('Volumes could not be brought up to date', { podUID: uid, retryInMs, err }),
    });
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { manager, mounts, objects } = this.#deps;
    const unsubscribe = [
      objects.changed.subscribe((object) => {
        for (const uid of manager.objectChanged(object)) this.#queue.add(uid);
      }),
      manager.podChanged.subscribe((uid) => this.#queue.add(uid)),
      mounts.changed.subscribe((uid) => this.#planNext(uid)),
    ];
    this.#queue.start();
    const stop = async (): Promise<void> => {
      await untilAborted(signal);
      for (const each of unsubscribe) each();
      await this.#queue.stop();
      await manager.stop();
    };
    return Promise.resolve({ stopped: stop() });
  }

  async #refresh(uid: PodUid): Promise<void> {
    await this.#deps.manager.refresh(uid);
    this.#planNext(uid);
  }

  /** A little before syncFrequency is over, not for all pods at the same moment. */
  #planNext(uid: PodUid): void {
    if (this.#deps.mounts.ofPod(uid).some(({ plugin }) => plugin.needsRefresh))
      this.#queue.addAfter(uid, this.#deps.syncFrequencyMs * (1 - 0.2 * this.#deps.random()));
    else this.#queue.forget(uid);
  }
}
