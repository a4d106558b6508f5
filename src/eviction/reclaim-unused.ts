// Removes what no pod uses, before pods are evicted. Upstream: reclaimNodeLevelResources in
// pkg/kubelet/eviction/eviction_manager.go. Invariant: a step that fails or hangs does not keep the next one from running.
import type { ContainerReclaim, ImageReclaim } from '../api/ports/reclaim.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf } from '../base/errors.ts';
import type { ReclaimStep } from './decide/reclaim-plan.ts';
import type { EvictionReport } from './eviction-report.ts';

export type NodeReclaim = ImageReclaim & Pick<ContainerReclaim, 'deleteUnusedContainers'>;

interface ReclaimDeps {
  readonly reclaim: NodeReclaim;
  readonly report: Pick<EvictionReport, 'reclaimFailed'>;
  readonly clock: Clock;
}

/** A runtime that hangs must not keep the other resources from being checked. */
const deadlineMs = 30_000;

export async function reclaimUnused(
  { clock, reclaim, report }: ReclaimDeps,
  plan: readonly ReclaimStep[],
  signal: AbortSignal,
): Promise<void> {
  for (const step of plan) {
    const what = `the removal of unused ${step}`;
    try {
      await withDeadline({ clock, ms: deadlineMs, signal, what }, async (inner) => {
        if (step === 'containers') await reclaim.deleteUnusedContainers(inner);
        else await reclaim.deleteUnusedImages(inner);
      });
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      report.reclaimFailed(step, err);
    }
  }
}
