import { expect, test } from 'vitest';
import { anObservedPod, aPod } from '../../test/builders/builders.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { findSameNamePod } from './find-same-name-pod.ts';
import type { WantedPod } from './worker-deps.ts';
import type { WorkerRecord } from './worker-records.ts';

const wanted = (uid: string, order: number, name = 'p'): WantedPod => ({
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
    pod: aPod({ uid, name }),
    lastFailure: '',
    mustLook: false,
    isKept: false,
  },
];

const kept = ([uid, each]: [string, WorkerRecord]): [string, WorkerRecord] => [
  uid,
  { ...each, isKept: true },
];

const own = wanted('own', 5);
const cases: readonly (readonly [
  string,
  { own?: WantedPod; desired?: WantedPod[]; observed?: ObservedPod[]; records?: [string, WorkerRecord][] },
  string | undefined,
])[] = [
  ['alone', {}, undefined],
  ['another name', { desired: [wanted('a', 1, 'q')], observed: [seen('b', 'q')] }, undefined],
  ['wanted earlier', { desired: [wanted('a', 1)] }, 'a'],
  ['wanted later', { desired: [wanted('a', 9)] }, undefined],
  ['on the runtime, wanted by nobody', { observed: [seen('a')] }, 'a'],
  ['on the runtime, wanted later', { desired: [wanted('a', 9)], observed: [seen('a')] }, undefined],
  ['itself on the runtime and worked on', { observed: [seen('own')], records: [record('own')] }, undefined],
  ['still worked on, not on the runtime yet', { records: [record('a')] }, 'a'],
  [
    'from the API server, wanted earlier',
    { desired: [wanted('a', 1)], own: { ...own, source: 'api' } },
    undefined,
  ],
  ['worked on under another name', { records: [record('a', 'q')] }, undefined],
  [
    'nothing left of it but what the runtime keeps',
    { observed: [seen('a')], records: [kept(record('a'))] },
    undefined,
  ],
];

for (const [name, { own: asking = own, desired = [], observed = [], records = [] }, want] of cases) {
  test(`findSameNamePod: ${name}`, () => {
    const all = [own, ...desired];
    expect(
      findSameNamePod(asking, {
        desired: { get: (uid) => all.find((each) => each.uid === uid), all: () => all },
        observed: { all: () => new Map(observed.map((each) => [each.uid, each])) },
        records: { all: () => new Map(records.map(([uid, each]) => [asPodUid(uid), each])) },
      }),
    ).toBe(want);
  });
}
