// Waits until a terminated pod holds nothing on the node any more. Upstream: waitForPodsCleanup in
// pkg/kubelet/eviction/eviction_manager.go, which polls.
import { isCleaned } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf } from '../base/errors.ts';

export interface LifecycleView {
  get(uid: PodUid): PodLifecycle | undefined;
  readonly changed: Subscribable<PodUid>;
}

interface WaitOptions {
  readonly lifecycles: LifecycleView;
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** Resolves to false if the pods were not cleaned in time. */
export async function untilCleaned(uids: readonly PodUid[], options: WaitOptions): Promise<boolean> {
  const { clock, lifecycles, ms, signal } = options;
  try {
    await withDeadline({ clock, ms, signal, what: 'the clean-up of evicted pods' }, async (inner) => {
      await Promise.all(uids.map((uid) => cleaned(uid, lifecycles, inner)));
    });
    return true;
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    return false;
  }
}

function cleaned(uid: PodUid, lifecycles: LifecycleView, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let unsubscribe = (): void => undefined;
    const check = (): void => {
      if (!isCleaned(lifecycles.get(uid)) && !signal.aborted) return;
      unsubscribe();
      signal.removeEventListener('abort', check);
      resolve();
    };
    unsubscribe = lifecycles.changed.subscribe((key) => {
      if (key === uid) check();
    });
    signal.addEventListener('abort', check);
    check();
  });
}
