// Reads a claim whose volume is expanded and writes the steps of the expansion to its status.
// Upstream: PatchPVCStatus in pkg/volume/util/resize_util.go. Invariants: every request has a deadline; a claim is read from the
// API server right before it is changed; no progress is recorded on a claim that now tracks another expansion.
import type { JsonObject } from '../../api/k8s/strategic-diff.ts';
import type { PersistentVolumeClaim } from '../../api/k8s/types.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import type { StorageObjects } from '../../api/ports/storage-objects.ts';
import type { Quantity } from '../../api/quantity/quantity.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import { finishedPatch, inProgressPatch } from './claim-patches.ts';
import {
  type ExpansionDecision,
  type ExpansionMode,
  resizeStatus,
  sizeOfClaim,
  storageOf,
} from './compute-expansion.ts';

export interface ClaimStatusDeps {
  readonly claims: Pick<PodObjects, 'persistentVolumeClaim'> & Pick<StorageObjects, 'patchClaimStatus'>;
  readonly clock: Clock;
}

interface PreparedExpansion {
  /** As last read or written. */
  readonly claim: PersistentVolumeClaim;
  readonly decision: ExpansionDecision;
}

const requestMs = 30_000;
/** differs from upstream: a conflict is retried at once with the claim as it is now, not reported and retried with backoff. */
const triesOnConflict = 3;

export class ClaimStatus {
  readonly #deps: ClaimStatusDeps;

  constructor(deps: ClaimStatusDeps) {
    this.#deps = deps;
  }

  /** Reads the claim, decides, and records that the node expands the volume, if the claim tracks that. */
  async prepare(
    of: PersistentVolumeClaim,
    decide: (claim: PersistentVolumeClaim) => ExpansionDecision,
    signal: AbortSignal,
  ): Promise<PreparedExpansion> {
    return await retryOnConflict(async () => {
      const claim = await this.#read(of, signal);
      const isSame = claim.metadata?.uid === of.metadata?.uid;
      const decision: ExpansionDecision = isSame ? decide(claim) : { do: 'nothing' };
      const isTracked = decision.do === 'expand' && decision.mode === 'tracked';
      if (!isTracked) return { claim, decision };
      return { decision, claim: await this.patch(claim, inProgressPatch(claim), signal) };
    });
  }

  /** Records that the volume has the size. */
  async finish(
    claim: PersistentVolumeClaim,
    size: Quantity,
    mode: ExpansionMode,
    signal: AbortSignal,
  ): Promise<void> {
    let current = claim;
    try {
      await retryOnConflict(async (isFirst) => {
        if (!isFirst) current = await this.#read(claim, signal);
        if (isFinished(current, size)) return;
        if (!isExpansionTo(current, size, mode))
          throw new KubeletError('invalid', 'OtherExpansion', 'the claim now tracks another expansion');
        await this.patch(current, finishedPatch(current, size), signal);
      });
    } catch (err) {
      if (signal.aborted) throw err;
      const what = mode === 'tracked' ? 'update pvc status failed:' : 'update PVC status failed :';
      throw wrapped(`mountVolume.NodeExpandVolume ${what}`, err);
    }
  }

  /** Resolves to the claim as it is afterwards. */
  async patch(
    claim: PersistentVolumeClaim,
    patch: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    if (patch === undefined) return claim;
    const { name = '', namespace = '' } = claim.metadata ?? {};
    try {
      return await this.#call('patching the claim', signal, (within) =>
        this.#deps.claims.patchClaimStatus(namespace, name, patch, within),
      );
    } catch (err) {
      if (signal.aborted) throw err;
      throw wrapped(`patchPVCStatus failed to patch PVC "${name}":`, err);
    }
  }

  async #read({ metadata }: PersistentVolumeClaim, signal: AbortSignal): Promise<PersistentVolumeClaim> {
    const { name = '', namespace = '' } = metadata ?? {};
    try {
      return await this.#call('reading the claim', signal, (within) =>
        this.#deps.claims.persistentVolumeClaim(namespace, name, within),
      );
    } catch (err) {
      if (signal.aborted) throw err;
      throw wrapped('mountVolume.NodeExpandVolume get PVC failed :', err);
    }
  }

  #call<T>(what: string, signal: AbortSignal, run: (within: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline({ clock: this.#deps.clock, ms: requestMs, signal, what }, run);
  }
}

/** Another node may have recorded the size of a shared volume. */
function isFinished(claim: PersistentVolumeClaim, size: Quantity): boolean {
  return resizeStatus(claim) === '' && sizeOfClaim(claim).cmp(size) >= 0;
}

function isExpansionTo(claim: PersistentVolumeClaim, size: Quantity, mode: ExpansionMode): boolean {
  const status = resizeStatus(claim);
  const allocated = storageOf(claim.status?.allocatedResources);
  if (mode === 'legacy') return status === '' && allocated === undefined;
  const isOnNode = status === 'NodeResizeInProgress' || status === 'NodeResizePending';
  return isOnNode && (allocated === undefined || allocated.equals(size));
}

async function retryOnConflict<T>(attempt: (isFirst: boolean) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt(tries === 1);
    } catch (err) {
      if (tries >= triesOnConflict || !isKind(err, 'conflict')) throw err;
    }
  }
}

function wrapped(prefix: string, err: unknown): KubeletError {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  return new KubeletError(kind, 'ExpansionFailed', `${prefix} ${describeError(err)}`, { cause: err });
}
