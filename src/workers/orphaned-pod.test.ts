import { expect, test } from 'vitest';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { isOrphanedPod, type OrphanViews } from './orphaned-pod.ts';

const uid = asPodUid('u1');
const other = asPodUid('u2');
const has = (known: PodUid) => ({ get: (each: PodUid) => (each === known ? {} : undefined) });

/** Views of a node on which nothing accounts for the pod. */
const orphaned: OrphanViews = {
  desired: { sourcesReady: () => true, ...has(other) },
  observed: has(other),
  pleg: { health: () => ({ failure: undefined }), isInspected: () => true },
  lifecycles: has(other),
  workers: { knows: (each) => each === other },
};

const cases: readonly (readonly [string, Partial<OrphanViews>, boolean])[] = [
  ['nothing accounts for the pod → orphan', {}, true],
  ['a source has not reported', { desired: { sourcesReady: () => false, ...has(other) } }, false],
  [
    'the runtime does not answer',
    { pleg: { ...orphaned.pleg, health: () => ({ failure: 'timeout' }) } },
    false,
  ],
  ['the pod was not inspected yet', { pleg: { ...orphaned.pleg, isInspected: () => false } }, false],
  ['a source wants the pod', { desired: { sourcesReady: () => true, ...has(uid) } }, false],
  ['the runtime has the pod', { observed: has(uid) }, false],
  ['the pod is in a lifecycle', { lifecycles: has(uid) }, false],
  ['a worker is responsible for the pod', { workers: { knows: (each) => each === uid } }, false],
];
for (const [name, views, want] of cases)
  test(`isOrphanedPod: ${name}`, () => expect(isOrphanedPod(uid, { ...orphaned, ...views })).toBe(want));
