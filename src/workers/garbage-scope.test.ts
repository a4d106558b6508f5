import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, exited } from '../../test/builders/builders.ts';
import type { PodStatus } from '../api/k8s/types.ts';
import { asContainerId } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { computeGarbageScope } from './garbage-scope.ts';
import type { WorkerState } from './transition.ts';

const seen = anObservedPod({
  containers: [
    exited(3, { id: asContainerId('new') }),
    exited(1, { id: asContainerId('old') }),
    anObservedContainer({ id: asContainerId('idle'), name: 'd', state: 'created' }),
  ],
});
const termination = { removal: false, graceSeconds: 1, kill: undefined, why: 'w' };
const finished: WorkerState = { state: 'finished', ...termination };
const kill: PodKill = { reason: 'Evicted', message: 'm', evicted: true };
const stored: PodStatus = {
  phase: 'Failed',
  containerStatuses: [
    {
      name: 'c',
      image: '',
      imageID: '',
      ready: false,
      restartCount: 1,
      containerID: 'containerd://new',
      state: { terminated: { exitCode: 3 } },
    },
  ],
};

describe('computeGarbageScope', () => {
  const input = { cause: 'pass', sourcesReady: true, worker: finished, desired: {}, stored, seen } as const;
  type Input = Parameters<typeof computeGarbageScope>[0];
  const newest = 'needs new, idle';
  const cases: readonly (readonly [string, Partial<Input>, string])[] = [
    ['after a sync the newest stay', { cause: 'sync' }, newest],
    ['a finished pod needs nothing once its exits are stored', {}, 'needs nothing'],
    ['under pressure all of it goes', { cause: 'pressure' }, 'all, needs nothing'],
    ['an evicted pod goes with its logs', { worker: { ...finished, kill } }, 'all, logs, needs nothing'],
    ['an evicted pod keeps its logs after a sync', { cause: 'sync', worker: { ...finished, kill } }, newest],
    [
      'an eviction by an earlier process is recognized',
      { stored: { ...stored, reason: 'Evicted' } },
      'all, logs, needs nothing',
    ],
    ['an exit that is not stored yet is needed', { stored: undefined, cause: 'pressure' }, `all, ${newest}`],
    [
      'the exit of another container does not count',
      { stored: { ...stored, containerStatuses: [] }, cause: 'pressure' },
      'all, needs new',
    ],
    ['a pod in its grace period stays', { worker: { state: 'terminating', ...termination, kill } }, newest],
    [
      'a pod whose volumes are mounted stays',
      { worker: { state: 'terminated', ...termination, kill } },
      newest,
    ],
    ['a live pod stays', { worker: { state: 'syncing' }, cause: 'pressure' }, newest],
    ['a pod without a worker stays', { worker: undefined, cause: 'pressure' }, newest],
    [
      'nothing is decided before all sources have reported',
      { sourcesReady: false, cause: 'pressure' },
      newest,
    ],
    ['a removed pod is left to its worker', { worker: { ...finished, removal: true } }, newest],
  ];
  for (const [name, over, wanted] of cases)
    test(name, () => {
      const scope = computeGarbageScope({ ...input, ...over });
      const needed = seen.containers.filter((each) => scope.isNeeded(each)).map(({ id }) => id);
      const parts = [scope.all ? 'all' : '', scope.logDirectory ? 'logs' : ''].filter((each) => each !== '');
      expect([...parts, `needs ${needed.join(', ') || 'nothing'}`].join(', ')).toBe(wanted);
    });
});
