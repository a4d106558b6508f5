import { expect, test } from 'vitest';
import type { PodStatus } from '../../src/api/k8s/types.ts';
import { compactCalls } from './calls.ts';
import type { Recorded } from './recorded.ts';
import { convertReplay } from './replay.ts';
import { convertScenario } from './scenario.ts';

const plain = {
  sandbox: { hostname: '$POD', 'linux/cgroupParent': '/kubepods' },
  container: { 'metadata/name': '$NAME', envs: ['A=1'] },
};

test('a call holds only what differs from the plain request, and null for what it lacks', () => {
  const calls = [
    {
      call: 'RunPodSandbox',
      request: {
        config: {
          hostname: 'p',
          annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', my_key: 'kept' },
          linux: { security_context: { namespace_options: { pid: 'CONTAINER' } } },
        },
      },
      response: { pod_sandbox_id: 'SANDBOX1' },
    },
    {
      call: 'CreateContainer',
      request: {
        config: {
          metadata: { name: 'c' },
          envs: [{ key: 'A', value: Buffer.from('2').toString('base64') }],
          mounts: [
            {
              container_path: '/t',
              host_path: 'ROOT/pods/UID/volumes/kubernetes.io~projected/kube-api-access-x',
            },
            { container_path: '/v', host_path: '/host' },
          ],
        },
      },
      response: { container_id: 'CONTAINER2' },
    },
    { call: 'RemoveContainer', request: { container_id: 'CONTAINER2' } },
    { call: 'StopContainer', request: { container_id: 'CONTAINER2', timeout: 2 } },
  ];
  expect(compactCalls(calls, 'p', plain)).toEqual([
    [
      'RunPodSandbox',
      {
        'annotations/my_key': 'kept',
        'linux/cgroupParent': null,
        'linux/securityContext/namespaceOptions/pid': 1,
      },
    ],
    ['CreateContainer', 'c', { envs: ['A=2'], mounts: [{ containerPath: '/v', hostPath: '/host' }] }],
    ['StopContainer', 'CONTAINER2', 2],
  ]);
});

const at = (seconds: number): string => `2026-11-17T10:00:0${seconds}Z`;
const sandboxIs = (
  status: string,
  seconds: number,
  message?: string,
): NonNullable<PodStatus['conditions']> => [
  {
    type: 'PodReadyToStartContainers',
    status,
    lastTransitionTime: at(seconds),
    ...(message && { reason: 'PodSandboxNotReady', message }),
  },
];
const container = { name: 'c', image: 'i', imageID: '', lastState: {}, ready: false, restartCount: 0 };
const base = { observedGeneration: 1, phase: 'Pending', qosClass: 'BestEffort', startTime: at(0) };
const recorded: Recorded = {
  scenario: 'p',
  actions: [{ atMs: 5_000, action: 'delete-now' }],
  statuses: [
    { type: 'ADDED', status: { phase: 'Pending' } },
    {
      type: 'MODIFIED',
      status: {
        ...base,
        conditions: sandboxIs('False', 0, 'no pod sandbox exists'),
        containerStatuses: [{ ...container, state: { waiting: { reason: 'ContainerCreating' } } }],
      },
    },
    {
      type: 'MODIFIED',
      status: {
        ...base,
        conditions: sandboxIs('True', 1),
        containerStatuses: [{ ...container, state: { waiting: { reason: 'ContainerCreating' } } }],
      },
    },
    {
      type: 'MODIFIED',
      status: {
        ...base,
        podIP: '10.0.0.1',
        conditions: sandboxIs('True', 1),
        containerStatuses: [
          {
            ...container,
            containerID: 'containerd://CONTAINER2',
            restartCount: 1,
            lastState: {
              terminated: {
                containerID: 'containerd://CONTAINER2',
                exitCode: 3,
                reason: 'Error',
                startedAt: at(2),
                finishedAt: at(3),
              },
            },
            state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
          },
        ],
      },
    },
    { type: 'DELETED', status: { ...base, phase: 'Failed' } },
  ],
  events: [
    { type: 'Normal', reason: 'Started', message: 'a\nb', fieldPath: 'spec.containers{c}' },
    { type: 'Normal', reason: 'Started', message: 'a\nb', fieldPath: 'spec.containers{c}' },
  ],
  cri: [],
};
const pod = { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } };

test('a scenario has one step per distinct status, with the observation behind it', () => {
  expect(convertScenario(recorded, { pod, objects: [] })).toEqual({
    name: 'p',
    start: '10:00:00',
    qosClass: 'BestEffort',
    spec: { restartPolicy: 'Always', containers: [{ name: 'c', image: 'i' }] },
    texts: { $1: 'back-off 10s' },
    steps: [
      {
        now: '10:00:00',
        life: 'syncing',
        generation: 1,
        sandbox: 'none',
        expect: {
          phase: 'Pending',
          conditions: {
            PodReadyToStartContainers: 'False 10:00:00 PodSandboxNotReady: no pod sandbox exists',
          },
          containers: { c: 'waiting ContainerCreating | - | x0' },
        },
      },
      {
        now: '10:00:01',
        life: 'syncing',
        generation: 1,
        sandbox: 'none',
        sandboxReady: true,
        expect: { conditions: { PodReadyToStartContainers: 'True 10:00:01' } },
      },
      {
        now: '10:00:01',
        life: 'syncing',
        generation: 1,
        sandbox: 'ready',
        ip: '10.0.0.1',
        containers: ['c CONTAINER2 x1 exited 3 Error 10:00:02 10:00:03'],
        waiting: { c: ['CrashLoopBackOff', '$1'] },
        expect: {
          podIP: '10.0.0.1',
          containers: {
            c: 'waiting CrashLoopBackOff $1 | terminated 3 Error 10:00:02 10:00:03 CONTAINER2 | CONTAINER2 x1',
          },
        },
      },
    ],
  });
});

test('a resize makes a new generation of a pod that is not deleted, and its condition vanishes', () => {
  const ready = sandboxIs('True', 1);
  const resizing = { type: 'PodResizeInProgress', status: 'True', lastTransitionTime: at(3) };
  const statuses: readonly PodStatus[] = [
    { ...base, observedGeneration: 2, podIP: '10.0.0.1', conditions: [resizing, ...ready] },
    { ...base, observedGeneration: 2, podIP: '10.0.0.1', conditions: ready },
    { ...base, observedGeneration: 3, podIP: '10.0.0.1', conditions: ready },
  ];
  const resized: Recorded = {
    ...recorded,
    actions: [
      { atMs: 3_000, action: 'resize-pod' },
      { atMs: 5_000, action: 'delete' },
    ],
    statuses: statuses.map((status) => ({ type: 'MODIFIED', status })),
  };
  const { steps } = convertScenario(resized, { pod, objects: [] });
  expect(
    steps.map(({ expect: { conditions }, life, now, resizing: since }) => ({ conditions, life, now, since })),
  ).toEqual([
    {
      life: 'syncing',
      now: '10:00:03',
      since: '10:00:03',
      conditions: { PodResizeInProgress: 'True 10:00:03', PodReadyToStartContainers: 'True 10:00:01' },
    },
    { life: 'syncing', now: '10:00:03', since: undefined, conditions: { PodResizeInProgress: null } },
    { life: 'terminating', now: '10:00:03', since: undefined, conditions: undefined },
  ]);
});

test('a replay has the pod without its node, when it was deleted, and each event once', () => {
  expect(convertReplay(recorded, { pod, objects: [] }, plain)).toEqual({
    name: 'p',
    pod: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    deleteAtMs: 5_000,
    graceSeconds: 1,
    events: ['Normal Started spec.containers{c} a\\nb'],
    calls: [],
  });
});
