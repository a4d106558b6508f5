// Reads what an earlier process kept, pods first. Invariant: what cannot be used is skipped by itself; a hung disk delays the start by a
// bounded time, after which the node starts with the pods that were read; objects of a slow disk follow.
import type { Pod } from '../api/k8s/types.ts';
import type { KubeObject } from '../api/ports/api-client.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isObject } from '../base/guards.ts';
import type { Logger } from '../base/log/log.ts';
import { type ObjectKind, type ObjectRef, secretKinds, type WatchedCollection } from './kept-kinds.ts';
import type { RecordFiles } from './record-writer.ts';

/** The records on disk. Those that are damaged, or of another node, are set aside and reported by the implementation. */
export interface KeptRecords extends RecordFiles {
  /** Creates what is missing. Call it first. */
  open(): Promise<void>;
  /** Reads every record of a kind. */
  load(kind: string, use: (key: string, text: string) => void): Promise<void>;
  /** Undefined if there is none that can be used. */
  read(kind: string, key: string): Promise<string | undefined>;
  /** Removes every record of these kinds, and the key that they were encrypted with. */
  forgetSecrets(kinds: readonly string[]): Promise<void>;
  /** Removes everything. False if there was nothing. */
  forgetAll(): Promise<boolean>;
}

interface LoadDeps {
  readonly records: KeptRecords;
  readonly keepSecrets: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Loaded {
  pod(uid: string, pod: Pod): void;
  collection(name: WatchedCollection, objects: readonly KubeObject[]): void;
  /** Without an object: the API server had none. May be late: what is known by then counts. */
  object(ref: ObjectRef, object: KubeObject | undefined): void;
}

/** Each collection is kept twice; the last one that can be read counts. */
export const collectionKinds: readonly string[] = ['collection-copies', 'collections'];

const deadlineMs = 10_000;
const plainKinds: readonly ObjectKind[] = [
  'configmaps',
  'persistentvolumeclaims',
  'persistentvolumes',
  'serviceaccounts',
];

export async function loadRecords(deps: LoadDeps, loaded: Loaded): Promise<void> {
  const { clock, log } = deps;
  try {
    await withDeadline({ clock, ms: deadlineMs, what: 'reading the kept state' }, (signal) =>
      readAll(deps, untilAborted(loaded, signal)),
    );
  } catch (err) {
    log.error('Failed to read the kept state in time, pods that were not read wait for the API server', {
      err,
    });
  }
}

async function readAll({ keepSecrets, records }: LoadDeps, loaded: Loaded): Promise<void> {
  await records.open();
  if (!keepSecrets) await records.forgetSecrets(secretKinds);
  await records.load('pods', (uid, text) => loaded.pod(uid, JSON.parse(text) as Pod));
  for (const kind of collectionKinds)
    await records.load(kind, (name, text) =>
      loaded.collection(name as WatchedCollection, JSON.parse(text) as readonly KubeObject[]),
    );
  for (const kind of [...plainKinds, ...(keepSecrets ? secretKinds : [])])
    await records.load(kind, (key, text) => loaded.object({ kind, key }, JSON.parse(text) as KubeObject));
  await records.load('absent', (_id, text) => {
    const ref: unknown = JSON.parse(text);
    if (isObject(ref)) loaded.object(ref as unknown as ObjectRef, undefined);
  });
}

/** Pods and collections that are read after the deadline no longer count: the API server may have answered meanwhile. */
function untilAborted(loaded: Loaded, signal: AbortSignal): Loaded {
  return {
    ...loaded,
    pod: (uid, pod) => signal.aborted || loaded.pod(uid, pod),
    collection: (name, objects) => signal.aborted || loaded.collection(name, objects),
  };
}
