// The patches of a claim's status that record the steps of an expansion. Pure.
// Upstream: pkg/volume/util/resize_util.go.
// Invariants: a patch that states progress holds the resource version that it was computed from, so that it fails on a claim
// that changed meanwhile; conditions and resource statuses of others are kept.
import { mergeKeysOfPersistentVolumeClaim } from '../../api/k8s/generated/merge-keys.ts';
import { type JsonObject, strategicDiff } from '../../api/k8s/strategic-diff.ts';
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
  PersistentVolumeClaimStatus,
} from '../../api/k8s/types.ts';
import type { Quantity } from '../../api/quantity/quantity.ts';

const nodeResizeError = 'NodeResizeError';
const resizeConditions: ReadonlySet<string> = new Set([
  'FileSystemResizePending',
  'Resizing',
  'ControllerResizeError',
  nodeResizeError,
]);

/** The node expands the volume now. Undefined if the status states that already. */
export function inProgressPatch(claim: PersistentVolumeClaim): JsonObject | undefined {
  return versioned(claim, withResizeStatus(claim.status ?? {}, 'NodeResizeInProgress'));
}

/** The claim has its new capacity; nothing of the expansion is left in its status. */
export function finishedPatch(claim: PersistentVolumeClaim, size: Quantity): JsonObject | undefined {
  const { capacity, conditions } = claim.status ?? {};
  return versioned(claim, {
    ...withResizeStatus(claim.status ?? {}, undefined),
    capacity: { ...capacity, storage: size.toString() },
    ...listed((conditions ?? []).filter(({ type }) => !resizeConditions.has(type))),
  });
}

interface RecordedFailure {
  readonly message: string;
  /** Whether the controller gives up this size. */
  readonly isInfeasible: boolean;
  readonly nowMs: number;
}

/** The condition NodeResizeError, and the status NodeResizeInfeasible. Undefined if the claim has both already. */
export function failedPatch(claim: PersistentVolumeClaim, failure: RecordedFailure): JsonObject | undefined {
  const before = claim.status ?? {};
  const status = failure.isInfeasible ? withResizeStatus(before, 'NodeResizeInfeasible') : before;
  const after = { ...status, ...listed(withFailure(before.conditions ?? [], failure)) };
  const diff = diffOf(claim, after);
  // It has to be recorded even if the claim changed meanwhile, unless it is another one of the same name.
  return diff === undefined ? undefined : { ...diff, metadata: { uid: claim.metadata?.uid } };
}

function withFailure(
  conditions: readonly PersistentVolumeClaimCondition[],
  { message, nowMs }: RecordedFailure,
): readonly PersistentVolumeClaimCondition[] {
  const known = conditions.find(({ type }) => type === nodeResizeError);
  const lastTransitionTime = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  if (known === undefined)
    return [...conditions, { type: nodeResizeError, status: 'True', lastTransitionTime, message }];
  // differs from upstream: the message of a condition that is True already is updated to that of the latest failure.
  const next =
    known.status === 'True'
      ? { ...known, message }
      : { ...known, status: 'True', lastTransitionTime, message };
  return conditions.map((each) => (each === known ? next : each));
}

function withResizeStatus(
  status: PersistentVolumeClaimStatus,
  storage: string | undefined,
): PersistentVolumeClaimStatus {
  const { allocatedResourceStatuses, ...rest } = status;
  const { storage: _, ...others } = allocatedResourceStatuses ?? {};
  const statuses = storage === undefined ? others : { ...others, storage };
  return Object.keys(statuses).length === 0 ? rest : { ...rest, allocatedResourceStatuses: statuses };
}

/** An empty list is left out, as the API server does. */
function listed(
  conditions: readonly PersistentVolumeClaimCondition[],
): Pick<PersistentVolumeClaimStatus, 'conditions'> | { readonly conditions: undefined } {
  return { conditions: conditions.length === 0 ? undefined : [...conditions] };
}

function versioned(claim: PersistentVolumeClaim, after: object): JsonObject | undefined {
  const diff = diffOf(claim, after);
  const resourceVersion = claim.metadata?.resourceVersion;
  return diff === undefined ? undefined : { ...diff, metadata: { resourceVersion } };
}

function diffOf(claim: PersistentVolumeClaim, after: object): JsonObject | undefined {
  return strategicDiff({ status: claim.status ?? {} }, { status: after }, mergeKeysOfPersistentVolumeClaim);
}
