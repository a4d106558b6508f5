// The health of drivers' storage in the status of CSINode: what is written, and whether anything is. Pure.
// Invariant: entries of other drivers are kept; a condition keeps the time at which it appeared.
// Upstream: tryUpdateCSINodeStorageHealth in pkg/volume/csi/nodeinfomanager.
import type { CSINode, StorageHealthCondition } from '../api/k8s/types.ts';

/** Without message and times: a condition whose message alone changes is the same condition. */
export function healthIdentities(conditions: readonly StorageHealthCondition[]): ReadonlySet<string> {
  return new Set(conditions.map(identityOf));
}

function identityOf({ accessMode = '', reason, status, volumeMode = '' }: StorageHealthCondition): string {
  return JSON.stringify([status, reason, accessMode, volumeMode]);
}

/** The object with these conditions of the driver; the same object if it has them. No conditions: no entry. */
export function withStorageHealth(
  csiNode: CSINode,
  driver: string,
  conditions: readonly StorageHealthCondition[],
  now: string,
): CSINode {
  const entries = csiNode.status?.storageHealth ?? [];
  const before = entries.find(({ name }) => name === driver)?.healthConditions ?? [];
  const known = healthIdentities(before);
  const wanted = healthIdentities(conditions);
  if (known.size === wanted.size && [...known].every((each) => wanted.has(each))) return csiNode;
  const others = entries.filter(({ name }) => name !== driver);
  const own = { name: driver, healthConditions: conditions.map((each) => withTime(each, before, now)) };
  const storageHealth = conditions.length === 0 ? others : [...others, own];
  return { ...csiNode, status: { ...csiNode.status, storageHealth } };
}

/** differs from upstream, which leaves the time empty. */
function withTime(
  condition: StorageHealthCondition,
  before: readonly StorageHealthCondition[],
  now: string,
): StorageHealthCondition {
  const identity = identityOf(condition);
  const since = before.find((each) => identityOf(each) === identity)?.lastTransitionTime;
  return { ...condition, lastTransitionTime: since ?? now };
}
