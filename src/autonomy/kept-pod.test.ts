import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../api/k8s/types.ts';
import { computeKeptPod, computePublishedPod, inOrderOfStart, isOver } from './kept-pod.ts';

const exited = (name: string, exitCode: number): ContainerStatus => ({
  name,
  ready: false,
  restartCount: 0,
  image: 'i',
  imageID: '',
  state: { terminated: { exitCode } },
});
const runs = (name: string): ContainerStatus => ({ ...exited(name, 0), state: { running: {} } });

function pod(restartPolicy: string, statuses: readonly ContainerStatus[], over: object = {}): Pod {
  const containers = ['a', 'b'].map((name) => ({ name, image: 'i', ...over }));
  return {
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
    spec: { restartPolicy, containers },
    status: { phase: 'Running', containerStatuses: [...statuses] },
  };
}

describe('computePublishedPod', () => {
  for (const [name, given, phase] of [
    ['Never, both succeeded → Succeeded', pod('Never', [exited('a', 0), exited('b', 0)]), 'Succeeded'],
    ['Never, one failed → Failed', pod('Never', [exited('a', 0), exited('b', 3)]), 'Failed'],
    ['Never, one runs → unchanged', pod('Never', [exited('a', 0), runs('b')]), 'Running'],
    ['Never, one has no status → unchanged', pod('Never', [exited('a', 0)]), 'Running'],
    [
      'OnFailure, both succeeded → Succeeded',
      pod('OnFailure', [exited('a', 0), exited('b', 0)]),
      'Succeeded',
    ],
    [
      'OnFailure, one failed → it is restarted',
      pod('OnFailure', [exited('a', 0), exited('b', 3)]),
      'Running',
    ],
    ['Always → unchanged', pod('Always', [exited('a', 0), exited('b', 0)]), 'Running'],
    [
      'a container with a policy of its own may be restarted → unchanged',
      pod('Never', [exited('a', 0), exited('b', 0)], { restartPolicy: 'Always' }),
      'Running',
    ],
  ] as const)
    test(name, () => expect(computePublishedPod(given).status?.phase).toBe(phase));
});

describe('computeKeptPod', () => {
  const api: Pod = {
    metadata: { name: 'p', uid: 'u' },
    status: {
      phase: 'Running',
      qosClass: 'BestEffort',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'example.com/gate', status: 'True' },
      ],
    },
  };
  test("this node's own status is newer, and conditions of other writers stay", () => {
    const own = {
      phase: 'Failed',
      reason: 'Evicted',
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'New', status: 'True' },
      ],
    };
    expect(computeKeptPod(api, own).status).toEqual({
      phase: 'Failed',
      reason: 'Evicted',
      qosClass: 'BestEffort',
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'example.com/gate', status: 'True' },
        { type: 'New', status: 'True' },
      ],
    });
  });
  test('a final phase of the API server stays', () => {
    const ended = { ...api, status: { ...api.status, phase: 'Succeeded' } };
    expect(computeKeptPod(ended, { phase: 'Running' }).status?.phase).toBe('Succeeded');
  });
  test('without an own status it is the API object', () =>
    expect(computeKeptPod(api, undefined)).toEqual(api));
});

test('a pod is over when it was deleted or has ended', () => {
  const alive = pod('Always', []);
  expect(isOver(alive)).toBe(false);
  expect(isOver({ ...alive, metadata: { ...alive.metadata, deletionTimestamp: 'x' } })).toBe(true);
  expect(isOver({ ...alive, status: { phase: 'Failed' } })).toBe(true);
});

test('pods start by priority, the oldest first', () => {
  const at = (name: string, priority: number | undefined, creationTimestamp: string): Pod => ({
    metadata: { name, uid: name, creationTimestamp },
    spec: { containers: [], ...(priority === undefined ? {} : { priority }) },
  });
  const pods = [
    at('low', -5, '2026-01-01T00:00:00Z'),
    at('young', undefined, '2026-03-01T00:00:00Z'),
    at('same-b', 0, '2026-02-01T00:00:00Z'),
    at('same-a', 0, '2026-02-01T00:00:00Z'),
    at('critical', 2_000_001_000, '2026-04-01T00:00:00Z'),
  ];
  const order = ['critical', 'same-a', 'same-b', 'young', 'low'];
  for (const given of [pods, pods.toReversed()])
    expect(inOrderOfStart(given).map(({ metadata }) => metadata?.name)).toEqual(order);
});

describe('the end of a graceful shutdown', () => {
  const isKeptOver = (phase: 'Running' | 'Failed', reason: string): boolean =>
    isOver(computeKeptPod({ metadata: { uid: 'u' }, status: { phase } }, { phase: 'Failed', reason }));
  for (const [name, phase, reason, over] of [
    ['that the API server has not received → starts again', 'Running', 'Terminated', false],
    ['of a pod that was not let start → the same', 'Running', 'NodeShutdown', false],
    ['that the API server has received → over', 'Failed', 'Terminated', true],
    ['by another reason → over, received or not', 'Running', 'Evicted', true],
  ] as const)
    test(name, () => expect(isKeptOver(phase, reason)).toBe(over));
});
