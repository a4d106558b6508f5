import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { PodStatus } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type AnnouncedPod, computePodChange } from './watch-change.ts';

const pod = aPod();
const edited = aPod({ labels: { a: 'b' } });
const status: PodStatus = { phase: 'Running' };
const failed: PodStatus = { phase: 'Failed' };
const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 0,
  waiting: {},
  explain: '',
  explainSinceMs: 0,
};
const terminating: PodLifecycle = {
  state: 'terminating',
  startedAtMs: 0,
  graceSeconds: 1,
  sinceMs: 0,
  why: '',
  explain: '',
};
const stopped: PodLifecycle = { state: 'terminated', startedAtMs: 0, atMs: 1, cleaned: false };
const cleaned: PodLifecycle = { ...stopped, cleaned: true };
const rejected: PodLifecycle = { state: 'rejected', startedAtMs: 0, reason: 'x', message: '' };

const live: AnnouncedPod = { pod, status, ended: false };
const ended: AnnouncedPod = { pod, status, ended: true };
type Level = Parameters<typeof computePodChange>[1];

const at = (lifecycle: PodLifecycle | undefined, over: Partial<Level> = {}): Level => ({
  pod,
  status,
  lifecycle,
  ...over,
});
const removed = { pod: undefined, status: undefined } as const;

const cases: readonly (readonly [string, AnnouncedPod | undefined, Level, string, object?])[] = [
  ['an unknown pod that no source has → nothing', undefined, at(syncing, removed), 'none'],
  [
    'a new pod without a status → present',
    undefined,
    at(undefined, { status: undefined }),
    'present',
    { pod, status: undefined, ended: false },
  ],
  ['nothing changed → nothing', live, at(syncing), 'none'],
  [
    'its status changed → present',
    live,
    at(syncing, { status: failed }),
    'present',
    { ...live, status: failed },
  ],
  ['its spec changed → present', live, at(syncing, { pod: edited }), 'present', { ...live, pod: edited }],
  ['terminating → nothing by itself', live, at(terminating), 'none'],
  ['stopped with volumes mounted → nothing', live, at(stopped), 'none'],
  [
    'stopped and cleaned up → ended',
    live,
    at(cleaned, { status: failed }),
    'ended',
    { pod, status: failed, ended: true },
  ],
  ['ended before → nothing', ended, at(cleaned), 'none'],
  ['a static pod that runs again under its UID → present', ended, at(syncing), 'present', live],
  ['removed by its source while it runs → its last state stays', live, at(syncing, removed), 'none'],
  [
    'removed by its source, its status changes → present',
    live,
    at(terminating, { ...removed, status: failed }),
    'present',
    { ...live, status: failed },
  ],
  ['removed by its source and cleaned up → gone', live, at(cleaned, removed), 'gone', live],
  ['removed by its source without a worker → gone', live, at(undefined, removed), 'gone', live],
  [
    'rejected → present like any status',
    live,
    at(rejected, { status: failed }),
    'present',
    { ...live, status: failed },
  ],
  ['rejected and removed → gone', live, at(rejected, removed), 'gone', live],
  ['ended and removed → gone', ended, at(undefined, removed), 'gone', ended],
];

for (const [name, before, level, kind, now] of cases)
  test(name, () => {
    expect(computePodChange(before, level)).toEqual(now === undefined ? { kind } : { kind, now });
  });
