// Decides whether this node has to expand a volume, to which size, and what of it the claim's status records. Pure.
// Upstream: nodeExpandVolume, expandVolumeDuringMount and checkForRecoveryFromExpansion of the operation generator, runPreCheck
// of the node expander, volumeNeedsExpansion of the actual state of world.
// Invariant: a claim whose resizer records its progress is expanded only while its status names the node's step, or to bring
// this node to a size that the claim has already.
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/k8s/types.ts';
import { Quantity } from '../../api/quantity/quantity.ts';

export interface ExpansionInput {
  readonly claim: PersistentVolumeClaim;
  readonly persistent: PersistentVolume;
  /** Whether the pod uses the claim read-only. */
  readonly isReadOnly: boolean;
  /** False right after set-up, before containers may use the volume. */
  readonly isMounted: boolean;
  /** The size of the volume on this node, as far as this kubelet process knows it. Read only if the volume is mounted. */
  readonly knownSize: Quantity | undefined;
  /** Whether an earlier attempt on this node certainly failed. */
  readonly hasFailed: boolean;
}

/**
 * `tracked`: the claim's status records each step. `shared`: the claim has the size already, since another node or the
 * controller expanded the volume; nothing but a failure is recorded. `legacy`: an old resizer, which expects the capacity only.
 */
export type ExpansionMode = 'tracked' | 'shared' | 'legacy';

export type ExpansionDecision =
  | { readonly do: 'nothing' }
  /** The volume has this size without a part of the node in it. */
  | { readonly do: 'adopt-size'; readonly size: Quantity }
  | { readonly do: 'report-read-only' }
  | {
      readonly do: 'expand';
      readonly size: Quantity;
      readonly mode: ExpansionMode;
      /** Whether a final failure ends the expansion to this size, so that the controller continues with the requested one. */
      readonly isLastTry: boolean;
    };

const notRequired = 'volume.kubernetes.io/node-expansion-not-required';
const nothing: ExpansionDecision = { do: 'nothing' };

export function computeExpansion(input: ExpansionInput): ExpansionDecision {
  const { claim, hasFailed, isMounted, isReadOnly, knownSize, persistent } = input;
  const wanted = storageOf(persistent.spec?.capacity);
  const current = isMounted ? knownSize : sizeOfClaim(claim);
  if (wanted === undefined || current === undefined || wanted.cmp(current) <= 0) return nothing;
  // The size of a volume that was never measured is no reason to expand it while containers use it.
  if (isMounted && current.isZero()) return nothing;
  if (isReadOnly) return isMounted ? nothing : { do: 'report-read-only' };

  const { allocatedResources } = claim.status ?? {};
  const status = resizeStatus(claim);
  if (status === '' && allocatedResources === undefined)
    return { do: 'expand', size: wanted, mode: 'legacy', isLastTry: false };
  // differs from upstream: without an allocated size the volume is expanded to the persistent volume's, not to zero bytes.
  const size = storageOf(allocatedResources) ?? wanted;
  if (status === '' && sizeOfClaim(claim).cmp(size) >= 0)
    return hasNodesToFollow(claim)
      ? { do: 'expand', size, mode: 'shared', isLastTry: false }
      : { do: 'adopt-size', size };
  if (status !== 'NodeResizePending' && status !== 'NodeResizeInProgress') return nothing;
  const isRequested = storageOf(claim.spec?.resources?.requests)?.equals(size) === true;
  return { do: 'expand', size, mode: 'tracked', isLastTry: hasFailed && !isRequested };
}

/** Every node that uses a shared volume expands it, whether or not another one has recorded the new size. */
function hasNodesToFollow({ metadata, spec }: PersistentVolumeClaim): boolean {
  const isShared = spec?.accessModes?.includes('ReadWriteMany') === true;
  return isShared && metadata?.annotations?.[notRequired] === undefined;
}

/** status.capacity; zero if it is unset. */
export function sizeOfClaim({ status }: PersistentVolumeClaim): Quantity {
  return storageOf(status?.capacity) ?? Quantity.zero;
}

/** '' if no step of an expansion is recorded. */
export function resizeStatus({ status }: PersistentVolumeClaim): string {
  return status?.allocatedResourceStatuses?.['storage'] ?? '';
}

export function storageOf(list: Readonly<Record<string, string>> | undefined): Quantity | undefined {
  const text = list?.['storage'];
  return text === undefined ? undefined : Quantity.fromJson(text);
}
