// Gives all CPUs back to running containers after the policy has changed from static to none. Without it they would keep the
// CPUs of the former policy for as long as they run. Upstream has no counterpart: it does not start until the node is drained.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { CpuSet } from './cpu-set.ts';
import { type CpusetReader, type SurveyedContainer, surveyCpusets } from './survey-cpusets.ts';

interface UnpinDeps {
  readonly runtime: CpusetReader & { readonly cri: Pick<CriRuntime, 'updateContainerResources'> };
  /** All of the machine. */
  readonly cpus: CpuSet;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Unpinned {
  readonly updated: number;
  readonly failed: readonly { readonly uid: PodUid; readonly container: string }[];
}

const deadlineMs = 10_000;
const retryMs = 10_000;
const parallelUpdates = 8;

/** Waits for the runtime. Rejects only if the signal aborts. */
export async function unpinContainers(deps: UnpinDeps, signal: AbortSignal): Promise<Unpinned> {
  const { clock, cpus, log, runtime } = deps;
  for (;;) {
    try {
      const running = await surveyCpusets(runtime, { clock, ms: deadlineMs, signal });
      const pinned = running.filter((each) => each.cpus === undefined || !isUnrestricted(each.cpus, cpus));
      return await updateAll(deps, pinned, signal);
    } catch (err) {
      signal.throwIfAborted();
      log.error('Failed to read the CPUs of running containers', { err, retryInMs: retryMs });
      await clock.sleep(retryMs, signal);
    }
  }
}

function isUnrestricted(own: CpuSet, all: CpuSet): boolean {
  return own.isEmpty || own.equals(all);
}

async function updateAll(
  { clock, cpus, log, runtime }: UnpinDeps,
  pinned: readonly SurveyedContainer[],
  signal: AbortSignal,
): Promise<Unpinned> {
  const failed: { uid: PodUid; container: string }[] = [];
  const left = pinned.values();
  const linux = { cpusetCpus: `${cpus}` };
  const work = async (): Promise<void> => {
    for (const { id, name, uid } of left) {
      try {
        await withDeadline({ clock, ms: deadlineMs, signal, what: 'update container resources' }, (each) =>
          runtime.cri.updateContainerResources({ containerId: id, linux }, { signal: each }),
        );
      } catch (err) {
        signal.throwIfAborted();
        if (isKind(err, 'not-found')) continue;
        log.error('Failed to update the CPUs of container', {
          podUid: uid,
          container: name,
          id,
          cpus: `${cpus}`,
          err,
        });
        failed.push({ uid, container: name });
      }
    }
  };
  await Promise.all(Array.from({ length: parallelUpdates }, work));
  return { updated: pinned.length - failed.length, failed };
}
