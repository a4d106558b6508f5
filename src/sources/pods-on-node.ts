// Reads which static pods are on the node already: on the runtime, or as a pod directory. Upstream has no counterpart.
// Invariant: never rejects, and waits for the runtime only for a bounded time; without it the directories decide, because a
// pod has its directory from before its first container until its termination is complete.
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { isComputedUid, type PodsOnNode } from './choose-uid.ts';

interface PodsOnNodeDeps {
  /** Resolves when this process has inspected every pod of its first relist, or that relist has failed. */
  readonly firstInspection: () => Promise<void>;
  readonly observed: { all(): ReadonlyMap<PodUid, ObservedPod> };
  readonly desired: { all(): readonly { readonly uid: PodUid }[] };
  /** The names in the directory of pods. */
  readonly podDirectories: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Longest time to wait for the first inspection; a runtime that hangs must not hold back the pods of other sources. */
const inspectionMs = 5_000;

export function readPodsOnNode(deps: PodsOnNodeDeps): () => Promise<PodsOnNode> {
  const { clock, desired, firstInspection, log, observed, podDirectories } = deps;
  let inspected: Promise<void> | undefined;
  return async () => {
    inspected ??= withDeadline(
      { clock, ms: inspectionMs, what: 'the first inspection of the runtime' },
      firstInspection,
    ).catch(() => undefined);
    await inspected;
    const directories = await podDirectories().catch((err: unknown) => {
      log.error('Failed to list pod directories', { err });
      return [];
    });
    const pods = [...observed.all()].filter(([uid]) => isComputedUid(uid));
    const running = pods.filter(([, pod]) => !isDown(pod)).map(([uid]) => uid);
    const present = [...pods.map(([uid]) => uid), ...desired.all().map(({ uid }) => uid), ...directories];
    return { running, present: [...new Set(present)].filter(isComputedUid) };
  };
}
