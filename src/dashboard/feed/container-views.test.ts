import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { ContainerStatus } from '../../api/k8s/types.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { containerViews } from './container-views.ts';

const at = '2026-01-01T00:00:00Z';
const status = (over: Partial<ContainerStatus>): ContainerStatus => ({
  name: 'c',
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...over,
});
const view = (over: Partial<ContainerStatus>, lifecycle?: PodLifecycle) =>
  containerViews(aPod(), { containerStatuses: [status(over)] }, lifecycle)[0];

test('every kind of container has its role', () => {
  const pod = aPod({
    initContainers: [aContainer({ name: 'i' }), aContainer({ name: 's', restartPolicy: 'Always' })],
    ephemeralContainers: [{ name: 'e', image: 'x' }],
  });
  expect(containerViews(pod, {}, undefined).map(({ name, role }) => [name, role])).toEqual([
    ['i', 'init'],
    ['s', 'sidecar'],
    ['c', 'regular'],
    ['e', 'ephemeral'],
  ]);
});

test.each([
  ['without a status', undefined, 'Waiting', 'busy'],
  ['running and ready', { state: { running: { startedAt: at } }, ready: true }, 'Running', 'good'],
  ['running', { state: { running: { startedAt: at } } }, 'Running', 'busy'],
  ['being created', { state: { waiting: { reason: 'ContainerCreating' } } }, 'ContainerCreating', 'busy'],
  [
    'not startable',
    { state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } },
    'ErrImagePull: not found',
    'bad',
  ],
  [
    'completed',
    { state: { terminated: { exitCode: 0, reason: 'Completed' } } },
    'Completed, exit code 0',
    'done',
  ],
  [
    'failed',
    { state: { terminated: { exitCode: 2, reason: 'Error', message: 'bad flag' } } },
    'Error, exit code 2: bad flag',
    'bad',
  ],
])('the state of a container %s', (_, over, state, tone) => {
  const found = over === undefined ? containerViews(aPod(), {}, undefined)[0] : view(over);
  expect([found?.state, found?.tone]).toEqual([state, tone]);
});

test('a container that waits for its restart has the time of it, its last end and previous logs', () => {
  const lifecycle: PodLifecycle = {
    state: 'syncing',
    startedAtMs: 0,
    waiting: { c: { reason: 'CrashLoopBackOff', message: 'back-off', untilMs: 77 } },
    explain: '',
    explainSinceMs: 0,
  };
  const lastState = { terminated: { exitCode: 137, reason: 'OOMKilled', containerID: 'containerd://1' } };
  const waiting = { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState, restartCount: 3 };
  expect(view(waiting, lifecycle)).toMatchObject({
    backoffUntilMs: 77,
    lastEnd: 'OOMKilled, exit code 137',
    hasPrevious: true,
    restarts: 3,
  });
  expect(
    view({ ...waiting, state: { running: { startedAt: at } } }, lifecycle)?.backoffUntilMs,
  ).toBeUndefined();
});
