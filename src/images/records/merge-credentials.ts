// Merges the credentials of another pull into a record. Pure. Upstream: pulledRecordMergeNewCreds in
// pullmanager/image_pull_manager.go. Invariant: an image that every pod may use stays so.
import type { Coordinates } from '../credentials/keyring.ts';
import type { PulledRecord, RecordedCredentials, RecordedSecret } from './pull-record.ts';

/** differs from upstream: a record does not grow with every namespace; pods with a dropped credential pull again. */
const mostPerImage = 1_000;

/** The record with the new credentials; undefined if it already contains them. */
export function mergeCredentials(
  old: PulledRecord,
  image: string,
  fresh: RecordedCredentials,
  nowMs: number,
): PulledRecord | undefined {
  const had = old.credentials.get(image);
  const merged = had === undefined ? unlessEmpty(fresh) : mergeOne(had, fresh);
  if (merged === undefined) return undefined;
  return { ...old, lastUpdatedMs: nowMs, credentials: new Map([...old.credentials, [image, merged]]) };
}

function unlessEmpty(fresh: RecordedCredentials): RecordedCredentials | undefined {
  const { nodePodsAccessible, secrets, serviceAccounts } = fresh;
  return nodePodsAccessible || secrets.length > 0 || serviceAccounts.length > 0 ? fresh : undefined;
}

function mergeOne(had: RecordedCredentials, fresh: RecordedCredentials): RecordedCredentials | undefined {
  if (had.nodePodsAccessible) return undefined;
  if (fresh.nodePodsAccessible) return { secrets: [], serviceAccounts: [], nodePodsAccessible: true };
  const secrets = mergeLists(had.secrets, fresh.secrets, sameSecret);
  const serviceAccounts = mergeLists(had.serviceAccounts, fresh.serviceAccounts, sameCoordinates);
  if (secrets === undefined && serviceAccounts === undefined) return undefined;
  return {
    ...had,
    secrets: secrets ?? had.secrets,
    serviceAccounts: serviceAccounts ?? had.serviceAccounts,
  };
}

/** Sorted; for equal coordinates the new entry wins. Undefined if nothing changes. */
function mergeLists<T extends Coordinates>(
  had: readonly T[],
  fresh: readonly T[],
  same: (a: T, b: T) => boolean,
): readonly T[] | undefined {
  const changes = fresh.filter((one) => !had.some((old) => same(old, one)));
  if (changes.length === 0) return undefined;
  const unchanged = had.filter((old) => !changes.some((one) => sameCoordinates(old, one)));
  return [...changes, ...unchanged].slice(0, mostPerImage).toSorted(byCoordinates);
}

export function sameCoordinates(a: Coordinates, b: Coordinates): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

function sameSecret(a: RecordedSecret, b: RecordedSecret): boolean {
  return sameCoordinates(a, b) && a.credentialHash === b.credentialHash;
}

function byCoordinates(a: Coordinates, b: Coordinates): number {
  for (const field of ['namespace', 'name', 'uid'] as const) {
    if (a[field] !== b[field]) return a[field] < b[field] ? -1 : 1;
  }
  return 0;
}
