import { expect, test } from 'vitest';
import { anObservedPod, aPod } from '../../test/builders/builders.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { findSameNamePod } from './find-same-name-pod.ts';
import type { DesiredPod } from './worker-deps.ts';
import type { WorkerRecord } from './worker-records.ts';

const desiredPod = (uid: string, order: number, name = 'p'): DesiredPod => ({
  uid: asPodUid(uid),
  pod: aPod({ uid, name }),
  order,
});
const seen = (uid: string, name = 'p'): ObservedPod => anObservedPod({ uid: asPodUid(uid), name });
const record = (uid: string, name = 'p'): [string, WorkerRecord] => [
  uid,
  {
    state: { state: 'syncing' },
    startedAtMs: 0,
    startedMonotonicMs: 0,
    order: 1,
    admitted: true,
    prepared: true,
    pod: aPod({ uid, name }),
    lastFailure: '',
    mustInspect: false,
    isUnremovable: false,
  },
];

const unremovable = ([uid, each]: [string, WorkerRecord]): [string, WorkerRecord] => [
  uid,
  { ...each, isUnremovable: true },
];

const own = desiredPod('own', 5);
const cases: readonly (readonly [
  string,
  { own?: DesiredPod; desired?: DesiredPod[]; observed?: ObservedPod[]; records?: [string, WorkerRecord][] },
  string | undefined,
])[] = [
  ['alone', {}, undefined],
  ['another name', { desired: [desiredPod('a', 1, 'q')], observed: [seen('b', 'q')] }, undefined],
  ['arrived earlier', { desired: [desiredPod('a', 1)] }, 'a'],
  ['arrived later', { desired: [desiredPod('a', 9)] }, undefined],
  ['on the runtime, in no source', { observed: [seen('a')] }, 'a'],
  ['on the runtime, arrived later', { desired: [desiredPod('a', 9)], observed: [seen('a')] }, undefined],
  [
    'the pod itself, on the runtime and with a worker',
    { observed: [seen('own')], records: [record('own')] },
    undefined,
  ],
  ['has a worker, not on the runtime yet', { records: [record('a')] }, 'a'],
  [
    'from the API server, arrived earlier',
    { desired: [desiredPod('a', 1)], own: { ...own, source: 'api' } },
    undefined,
  ],
  ['has a worker under another name', { records: [record('a', 'q')] }, undefined],
  [
    'only an unremovable container is left',
    { observed: [seen('a')], records: [unremovable(record('a'))] },
    undefined,
  ],
];

for (const [name, { own: pod = own, desired = [], observed = [], records = [] }, want] of cases) {
  test(`findSameNamePod: ${name}`, () => {
    const all = [own, ...desired];
    expect(
      findSameNamePod(pod, {
        desired: { get: (uid) => all.find((each) => each.uid === uid), all: () => all },
        observed: { all: () => new Map(observed.map((each) => [each.uid, each])) },
        records: { all: () => new Map(records.map(([uid, each]) => [asPodUid(uid), each])) },
      }),
    ).toBe(want);
  });
}
