// Clears what is left on disk of pods that nobody knows any more: a kubelet that was away while they ended leaves their
// directories. Upstream: cleanupOrphanedPodDirs in pkg/kubelet/kubelet_volumes.go.
// Invariants: nothing of a pod is touched that is wanted, ends or is seen on the runtime, nor before all of these could be told;
// volumes are taken down, not deleted; a directory that cannot be cleared is told of once, not on each round.
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { releaseLeftovers } from './devices/device-steps.ts';
import type { VolumeOperationDeps } from './operation-deps.ts';
import { tearDownPod } from './tear-down.ts';

interface OrphansDeps {
  readonly teardown: VolumeOperationDeps;
  /** Whether it is certain that nobody knows this pod. */
  readonly isOrphan: (uid: PodUid) => boolean;
  readonly everyMs: number;
  /** Told after each round how many directories there were, and how many of them could not be cleared. */
  readonly onRound?: ((found: number, failed: number) => void) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Orphans implements Component {
  readonly name = 'orphaned-volumes';
  readonly #deps: OrphansDeps;
  /** Directories that could not be cleared, with the reason that was told. */
  readonly #stuck = new Map<PodUid, string>();

  constructor(deps: OrphansDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return Promise.resolve({ stopped: this.#loop(signal) });
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, everyMs, log } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(everyMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      await this.clear(signal).catch((err: unknown) => {
        if (!signal.aborted) log.error('Directories of pods cannot be looked through', { err });
      });
    }
  }

  /** One round over all directories of pods. */
  async clear(signal: AbortSignal): Promise<void> {
    const { isOrphan, log, onRound, teardown } = this.#deps;
    const names = await teardown.host.listDirectories(teardown.layout.podsDir);
    const cleared: PodUid[] = [];
    for (const uid of names.map(asPodUid)) {
      if (signal.aborted) return;
      if (isOrphan(uid) && (await this.#clearOne(uid, signal))) cleared.push(uid);
    }
    await releaseLeftovers(teardown, teardown.plugins, signal);
    for (const uid of this.#stuck.keys()) if (!names.includes(uid) || !isOrphan(uid)) this.#stuck.delete(uid);
    onRound?.(cleared.length + this.#stuck.size, this.#stuck.size);
    if (cleared.length > 0)
      log.info('Cleared what was left of pods nobody knows', {
        count: cleared.length,
        podUIDs: cleared.slice(0, 5),
      });
  }

  async #clearOne(uid: PodUid, signal: AbortSignal): Promise<boolean> {
    const { log, isOrphan, teardown } = this.#deps;
    try {
      await tearDownPod(teardown, uid, signal);
      // Unmounting takes a while, in which the pod may have come back.
      if (!isOrphan(uid)) return false;
      await teardown.host.removePodDirectory(uid);
      this.#stuck.delete(uid);
      return true;
    } catch (err) {
      if (signal.aborted) return false;
      const reason = describeError(err);
      if (this.#stuck.get(uid) !== reason)
        log.warn('What is left of a pod nobody knows cannot be cleared', { podUID: uid, err: reason });
      this.#stuck.set(uid, reason);
      return false;
    }
  }
}
