import { describe, expect, test } from 'vitest';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import { explainPod } from './explain-pod.ts';

const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 1000,
  waiting: {},
  explain: 'running as specified',
  explainSinceMs: 2000,
};
const terminating: PodLifecycle = {
  state: 'terminating',
  startedAtMs: 1000,
  graceSeconds: 30,
  sinceMs: 5000,
  why: 'the pod was deleted',
  explain: '',
};
const pull: PodActivity = { what: 'image a is being pulled, attempt 2', sinceMs: 4000 };
const hook: PodActivity = { what: 'the preStop hook of container c runs', sinceMs: 5000 };

const cases = [
  ['not synced', undefined, [], { explanation: 'not synced yet' }],
  ['no activity', syncing, [], { explanation: 'running as specified', sinceMs: 2000 }],
  ['pulling', syncing, [pull], { explanation: pull.what, sinceMs: 4000 }],
  [
    'two activities, the older first',
    syncing,
    [hook, pull],
    { explanation: `${pull.what}; ${hook.what}`, sinceMs: 4000 },
  ],
  [
    'ending',
    terminating,
    [],
    { explanation: 'terminating: the pod was deleted, 27 of 30 s of grace left', sinceMs: 5000 },
  ],
  [
    'terminating with a hook',
    terminating,
    [hook],
    {
      explanation: `terminating: the pod was deleted, 27 of 30 s of grace left; ${hook.what}`,
      sinceMs: 5000,
    },
  ],
  [
    'terminating, grace period expired',
    { ...terminating, sinceMs: -60_000 },
    [],
    { explanation: 'terminating: the pod was deleted, 0 of 30 s of grace left', sinceMs: -60_000 },
  ],
  [
    'terminated',
    { state: 'terminated', startedAtMs: 1, atMs: 7000, cleaned: true },
    [],
    { explanation: 'terminated', sinceMs: 7000 },
  ],
  [
    'terminated, volumes still mounted',
    { state: 'terminated', startedAtMs: 1, atMs: 7000, cleaned: false },
    [],
    { explanation: 'terminated; unmounting its volumes', sinceMs: 7000 },
  ],
  [
    'terminated, a volume that cannot be unmounted',
    { state: 'terminated', startedAtMs: 1, atMs: 7000, cleaned: false },
    [{ what: 'volumes could not be unmounted, 2 attempts: target is busy', sinceMs: 7100 }],
    {
      explanation: 'terminated; volumes could not be unmounted, 2 attempts: target is busy',
      sinceMs: 7000,
    },
  ],
  [
    'rejected',
    { state: 'rejected', startedAtMs: 3, reason: 'OutOfcpu', message: 'no room' },
    [],
    { explanation: 'rejected: OutOfcpu: no room', sinceMs: 3 },
  ],
] as const satisfies readonly (readonly [
  string,
  PodLifecycle | undefined,
  readonly PodActivity[],
  unknown,
])[];

for (const [name, lifecycle, activities, want] of cases)
  test(name, () => expect(explainPod({ lifecycle, activities, nowMs: 8000 })).toEqual(want));

describe('a pod that is not ready', () => {
  const readiness: PodActivity = { what: 'container c: its readiness probe does not succeed', sinceMs: 3000 };
  const explain = (over: Partial<Parameters<typeof explainPod>[0]>): string =>
    explainPod({ lifecycle: syncing, activities: [], readiness, nowMs: 8000, ...over }).explanation;

  test('is explained by what it lacks', () => expect(explain({})).toBe(readiness.what));
  test('is explained by an operation in flight first', () =>
    expect(explain({ activities: [pull] })).toBe(pull.what));
  test('is explained by a container that waits first', () => {
    const waiting = { c: { reason: 'CrashLoopBackOff', message: 'back-off' } };
    const lifecycle = { ...syncing, waiting, explain: 'container c: CrashLoopBackOff' };
    expect(explain({ lifecycle })).toBe('container c: CrashLoopBackOff');
  });
});
