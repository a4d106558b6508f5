import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../k8s/types.ts';
import { podSummary } from './pod-status-word.ts';

function container(
  name: string,
  state: ContainerState,
  over: Partial<ContainerStatus> = {},
): ContainerStatus {
  const ready = over.ready ?? state.running !== undefined;
  return { name, image: '', imageID: '', restartCount: 0, state, ...over, ready };
}

const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waiting = (reason?: string): ContainerState => ({ waiting: reason === undefined ? {} : { reason } });
const ended = (exitCode: number, reason?: string, signal?: number): ContainerState => ({
  terminated: {
    exitCode,
    ...(reason === undefined ? {} : { reason }),
    ...(signal === undefined ? {} : { signal }),
  },
});
const crashed = (restartCount: number, finishedAt: string): Partial<ContainerStatus> => ({
  restartCount,
  lastState: { terminated: { exitCode: 1, finishedAt } },
});
const sidecar = aContainer({ name: 's', restartPolicy: 'Always' });
const init = (...names: readonly string[]) => names.map((name) => aContainer({ name }));
const condition = (type: string) => [{ type, status: 'True' }];
const deleted: Pod = {
  ...aPod(),
  metadata: { name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' },
};

interface Case {
  readonly pod?: Pod;
  readonly status: PodStatus;
  readonly isEnding?: boolean;
  /** Ready, word, restarts, tone. */
  readonly want: string;
}

const cases: readonly (readonly [string, Case])[] = [
  ['no status yet', { status: {}, want: '0/1 Pending 0 busy' }],
  ['pending', { status: { phase: 'Pending' }, want: '0/1 Pending 0 busy' }],
  [
    'creating',
    {
      status: { phase: 'Pending', containerStatuses: [container('c', waiting('ContainerCreating'))] },
      want: '0/1 ContainerCreating 0 busy',
    },
  ],
  [
    'running',
    {
      status: { phase: 'Running', containerStatuses: [container('c', running)] },
      want: '1/1 Running 0 good',
    },
  ],
  [
    'running, not ready',
    {
      status: { phase: 'Running', containerStatuses: [container('c', running, { ready: false })] },
      want: '0/1 Running 0 busy',
    },
  ],
  [
    'crash loop',
    {
      status: {
        phase: 'Running',
        containerStatuses: [container('c', waiting('CrashLoopBackOff'), crashed(7, '2026-01-01T00:00:00Z'))],
      },
      want: '0/1 CrashLoopBackOff 7 bad',
    },
  ],
  [
    'image that cannot be pulled',
    {
      status: { phase: 'Pending', containerStatuses: [container('c', waiting('ImagePullBackOff'))] },
      want: '0/1 ImagePullBackOff 0 bad',
    },
  ],
  [
    'out of memory',
    {
      status: { phase: 'Running', containerStatuses: [container('c', ended(137, 'OOMKilled'))] },
      want: '0/1 OOMKilled 0 bad',
    },
  ],
  [
    'an end without a reason, by exit code',
    {
      status: { phase: 'Failed', containerStatuses: [container('c', ended(3))] },
      want: '0/1 ExitCode:3 0 bad',
    },
  ],
  [
    'an end without a reason, by signal',
    {
      status: { phase: 'Failed', containerStatuses: [container('c', ended(137, '', 9))] },
      want: '0/1 Signal:9 0 bad',
    },
  ],
  [
    'completed',
    {
      status: { phase: 'Succeeded', containerStatuses: [container('c', ended(0, 'Completed'))] },
      want: '0/1 Completed 0 done',
    },
  ],
  [
    'one container completed, the other one runs and is ready',
    {
      pod: aPod({ containers: init('a', 'b') }),
      status: {
        phase: 'Running',
        conditions: condition('Ready'),
        containerStatuses: [container('a', ended(0, 'Completed')), container('b', running)],
      },
      want: '1/2 Running 0 busy',
    },
  ],
  [
    'one container completed, the pod is not ready',
    {
      pod: aPod({ containers: init('a', 'b') }),
      status: {
        phase: 'Running',
        containerStatuses: [container('a', ended(0, 'Completed')), container('b', running)],
      },
      want: '1/2 NotReady 0 busy',
    },
  ],
  ['evicted', { status: { phase: 'Failed', reason: 'Evicted' }, want: '0/1 Evicted 0 bad' }],
  [
    'rejected at admission',
    { status: { phase: 'Failed', reason: 'OutOfpods' }, want: '0/1 OutOfpods 0 bad' },
  ],
  [
    'deleted',
    {
      pod: deleted,
      status: { phase: 'Running', containerStatuses: [container('c', running)] },
      want: '1/1 Terminating 0 busy',
    },
  ],
  [
    'deleted after it had ended',
    {
      pod: deleted,
      status: { phase: 'Succeeded', containerStatuses: [container('c', ended(0, 'Completed'))] },
      want: '0/1 Completed 0 done',
    },
  ],
  [
    'a static pod that was removed',
    {
      status: { phase: 'Running', containerStatuses: [container('c', running)] },
      isEnding: true,
      want: '1/1 Terminating 0 busy',
    },
  ],
  [
    'the second of three init containers runs',
    {
      pod: aPod({ initContainers: init('a', 'b', 'c') }),
      status: {
        phase: 'Pending',
        initContainerStatuses: [container('a', ended(0, 'Completed')), container('b', running)],
        containerStatuses: [container('c', waiting('PodInitializing'))],
      },
      want: '0/1 Init:1/3 0 busy',
    },
  ],
  [
    'an init container waits for others',
    {
      pod: aPod({ initContainers: init('a') }),
      status: { phase: 'Pending', initContainerStatuses: [container('a', waiting('PodInitializing'))] },
      want: '0/1 Init:0/1 0 busy',
    },
  ],
  [
    'an init container crashes',
    {
      pod: aPod({ initContainers: init('a') }),
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          container('a', waiting('CrashLoopBackOff'), crashed(2, '2026-01-01T00:00:00Z')),
        ],
      },
      want: '0/1 Init:CrashLoopBackOff 2 bad',
    },
  ],
  [
    'an init container failed',
    {
      pod: aPod({ initContainers: init('a') }),
      status: { phase: 'Failed', initContainerStatuses: [container('a', ended(1, 'Error'))] },
      want: '0/1 Init:Error 0 bad',
    },
  ],
  [
    'an init container failed without a reason',
    {
      pod: aPod({ initContainers: init('a') }),
      status: { phase: 'Pending', initContainerStatuses: [container('a', ended(4))] },
      want: '0/1 Init:ExitCode:4 0 bad',
    },
  ],
  [
    'an init container ended by a signal',
    {
      pod: aPod({ initContainers: init('a') }),
      status: { phase: 'Pending', initContainerStatuses: [container('a', ended(143, undefined, 15))] },
      want: '0/1 Init:Signal:15 0 bad',
    },
  ],
  [
    'a sidecar counts as a container',
    {
      pod: aPod({ initContainers: [sidecar] }),
      status: {
        phase: 'Running',
        initContainerStatuses: [container('s', running, { started: true, ...crashed(2, '') })],
        containerStatuses: [container('c', running)],
      },
      want: '2/2 Running 2 good',
    },
  ],
  [
    'a sidecar that has not started',
    {
      pod: aPod({ initContainers: [sidecar] }),
      status: {
        phase: 'Pending',
        initContainerStatuses: [container('s', running, { started: false, ready: false })],
      },
      want: '0/2 Init:0/1 0 busy',
    },
  ],
  [
    'restarts of init containers do not count once the pod is initialized',
    {
      pod: aPod({ initContainers: init('a') }),
      status: {
        phase: 'Running',
        conditions: condition('Initialized'),
        initContainerStatuses: [container('a', ended(0, 'Completed'), crashed(5, ''))],
        containerStatuses: [container('c', running, { restartCount: 1 })],
      },
      want: '1/1 Running 1 good',
    },
  ],
  [
    'the first of two waiting containers gives the word',
    {
      pod: aPod({ containers: init('a', 'b') }),
      status: {
        phase: 'Pending',
        containerStatuses: [
          container('a', waiting('ErrImagePull')),
          container('b', waiting('CrashLoopBackOff')),
        ],
      },
      want: '0/2 ErrImagePull 0 bad',
    },
  ],
];

test.each(cases)('the columns of kubectl: %s', (_, { isEnding = false, pod = aPod(), status, want }) => {
  const { containers, ready, restarts, tone, word } = podSummary(pod, { status, isEnding });
  expect(`${ready}/${containers} ${word} ${restarts} ${tone}`).toBe(want);
});

test('the last restart is the newest end of a container before', () => {
  const status: PodStatus = {
    containerStatuses: [
      container('a', running, crashed(1, '2026-01-01T00:00:02Z')),
      container('b', running, crashed(1, '2026-01-01T00:00:05Z')),
    ],
  };
  expect(podSummary(aPod(), { status }).lastRestartMs).toBe(Date.parse('2026-01-01T00:00:05Z'));
});
