import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../k8s/types.ts';
import { podSummary } from './pod-status-word.ts';

type State = NonNullable<ContainerStatus['state']>;
const running: State = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waiting = (reason?: string): State => ({ waiting: reason === undefined ? {} : { reason } });
const ended = (
  exitCode: number,
  more: { readonly reason?: string; readonly signal?: number } = {},
): State => ({
  terminated: { exitCode, ...more },
});

interface Shape {
  readonly main?: readonly (State | [State, Partial<ContainerStatus>])[];
  readonly init?: readonly (State | [State, Partial<ContainerStatus>])[];
  readonly sidecars?: readonly number[];
  readonly status?: Pod['status'];
  readonly deleted?: boolean;
}

function statuses(states: Shape['main'], prefix: string): ContainerStatus[] {
  return (states ?? []).map((each, at) => {
    const [state, more] = Array.isArray(each) ? each : [each, {}];
    const ready = state.running !== undefined;
    return { name: `${prefix}${at}`, image: 'i', imageID: 'i', ready, restartCount: 0, state, ...more };
  });
}

function pod({ deleted = false, init = [], main = [], sidecars = [], status = {} }: Shape): Pod {
  return {
    metadata: { name: 'p', ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    spec: {
      containers: main.map((_, at) => ({ name: `c${at}`, image: 'i' })),
      initContainers: init.map((_, at) => ({
        name: `i${at}`,
        image: 'i',
        ...(sidecars.includes(at) && { restartPolicy: 'Always' }),
      })),
    },
    status: {
      phase: 'Running',
      initContainerStatuses: statuses(init, 'i'),
      containerStatuses: statuses(main, 'c'),
      ...status,
    },
  };
}

const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
const initialized = { conditions: [{ type: 'Initialized', status: 'True' }] };
const cases: readonly (readonly [name: string, shape: Shape, word: string, readyOf: string])[] = [
  ['all run', { main: [running, running] }, 'Running', '2/2'],
  ['no status yet', { main: [waiting()], status: { phase: 'Pending' } }, 'Pending', '0/1'],
  ['being created', { main: [waiting('ContainerCreating')] }, 'ContainerCreating', '0/1'],
  ['the first container with a reason decides', { main: [waiting('A'), waiting('B')] }, 'A', '0/2'],
  [
    'a crash loop beside a running container',
    { main: [running, waiting('CrashLoopBackOff')] },
    'CrashLoopBackOff',
    '1/2',
  ],
  ['an end with a reason', { main: [ended(137, { reason: 'OOMKilled' })] }, 'OOMKilled', '0/1'],
  ['an end without a reason', { main: [ended(3)] }, 'ExitCode:3', '0/1'],
  ['an end by a signal', { main: [ended(0, { signal: 9 })] }, 'Signal:9', '0/1'],
  [
    'completed',
    { main: [ended(0, { reason: 'Completed' })], status: { phase: 'Succeeded' } },
    'Completed',
    '0/1',
  ],
  [
    'one of two completed, Ready',
    { main: [ended(0, { reason: 'Completed' }), running], status: ready },
    'Running',
    '1/2',
  ],
  [
    'one of two completed, not Ready',
    { main: [ended(0, { reason: 'Completed' }), running] },
    'NotReady',
    '1/2',
  ],
  ['evicted', { status: { phase: 'Failed', reason: 'Evicted' } }, 'Evicted', '0/0'],
  [
    'gated',
    {
      status: {
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
      },
    },
    'SchedulingGated',
    '0/0',
  ],
  [
    'init containers wait',
    { init: [waiting('PodInitializing'), waiting('PodInitializing')], main: [waiting('PodInitializing')] },
    'Init:0/2',
    '0/1',
  ],
  [
    'the second init container runs',
    { init: [ended(0), running], main: [waiting('PodInitializing')] },
    'Init:1/2',
    '0/1',
  ],
  [
    'an init container cannot be pulled',
    { init: [waiting('ErrImagePull')], main: [waiting('PodInitializing')] },
    'Init:ErrImagePull',
    '0/1',
  ],
  [
    'an init container failed',
    { init: [ended(1, { reason: 'Error' })], main: [waiting()] },
    'Init:Error',
    '0/1',
  ],
  [
    'an init container failed without a reason',
    { init: [ended(2)], main: [waiting()] },
    'Init:ExitCode:2',
    '0/1',
  ],
  [
    'an init container was killed',
    { init: [ended(137, { signal: 9 })], main: [waiting()] },
    'Init:Signal:9',
    '0/1',
  ],
  [
    'a sidecar that started',
    { init: [[running, { started: true, ready: true }]], sidecars: [0], main: [running] },
    'Running',
    '2/2',
  ],
  [
    'a sidecar that has not started',
    { init: [[running, { started: false }]], sidecars: [0], main: [waiting('PodInitializing')] },
    'Init:0/1',
    '0/2',
  ],
  [
    'a failed sidecar of an initialized pod',
    { init: [waiting('CrashLoopBackOff')], sidecars: [0], main: [running], status: initialized },
    'Init:CrashLoopBackOff',
    '1/2',
  ],
  ['deleted', { main: [running], deleted: true }, 'Terminating', '1/1'],
  [
    'deleted after its end',
    { main: [ended(0, { reason: 'Completed' })], status: { phase: 'Succeeded' }, deleted: true },
    'Completed',
    '0/1',
  ],
  [
    'deleted on a lost node',
    { main: [running], status: { reason: 'NodeLost' }, deleted: true },
    'Unknown',
    '1/1',
  ],
  ['nothing known', { status: { phase: '' } }, 'Pending', '0/0'],
];

describe('the status word', () => {
  for (const [name, shape, word, readyOf] of cases)
    test(name, () => {
      const built = pod(shape);
      const { containers, ready: readyCount, word: shown } = podSummary(built);
      expect([shown, `${readyCount}/${containers}`]).toEqual([word, readyOf]);
    });
});

describe('restarts', () => {
  const end = (finishedAt: string): Partial<ContainerStatus> => ({
    lastState: { terminated: { exitCode: 1, finishedAt } },
  });
  test('are those of regular containers and sidecars once the pod is initialized', () => {
    const shape = pod({
      init: [
        [ended(0), { restartCount: 3 }],
        [running, { started: true, restartCount: 2, ...end('2026-01-01T00:00:05Z') }],
      ],
      sidecars: [1],
      main: [[running, { restartCount: 4, ...end('2026-01-01T00:00:03Z') }]],
    });
    expect(podSummary(shape)).toMatchObject({
      restarts: 6,
      lastRestartMs: Date.parse('2026-01-01T00:00:05Z'),
    });
  });
  test('are those of init containers before', () => {
    const shape = pod({
      init: [[waiting('CrashLoopBackOff'), { restartCount: 3 }], running],
      main: [waiting()],
    });
    expect(podSummary(shape)).toMatchObject({ restarts: 3, lastRestartMs: undefined });
  });
});
