import { describe, expect, test } from 'vitest';
import type { ContainerStatus, PodCondition } from '../api/k8s/types.ts';
import { type ConditionsView, computeConditions } from './conditions.ts';
import {
  container,
  laterMs,
  laterText,
  observedPod,
  pod,
  sandbox,
  startText,
  status,
} from './fixtures/builders.ts';
import { defaultStatusGates } from './status-gates.ts';

const up = (name: string, ready = true): ContainerStatus =>
  status(name, { state: { running: {} }, ready, started: true });
const waits = (name: string): ContainerStatus => status(name, { state: { waiting: {} }, started: false });
const done = (name: string): ContainerStatus =>
  status(name, { state: { terminated: { exitCode: 0 } }, ready: true, started: false });

function view(fields: Partial<ConditionsView> = {}): ConditionsView {
  return {
    pod: pod(),
    observed: observedPod(),
    sandboxReady: false,
    statuses: [up('c')],
    phase: 'Running',
    foreign: [],
    before: [],
    final: false,
    gates: defaultStatusGates,
    nowMs: laterMs,
    ...fields,
  };
}

/** Each condition as "Type Status [Reason[: message]]". */
function lines(conditions: readonly PodCondition[]): string[] {
  return conditions.map(({ type, status: is, reason, message }) =>
    [type, is, message === undefined ? reason : `${reason}: ${message}`].filter((word) => word).join(' '),
  );
}

const scheduled = 'PodScheduled True';
const side = container('side', { restartPolicy: 'Always' });
const gates = { readinessGates: [{ conditionType: 'example.com/lb' }] };
const lb = (is: string): PodCondition => ({ type: 'example.com/lb', status: is });

const cases: readonly (readonly [string, Partial<ConditionsView>, readonly string[]])[] = [
  [
    'healthy pod',
    {},
    ['PodReadyToStartContainers True', 'Initialized True', 'Ready True', 'ContainersReady True', scheduled],
  ],
  [
    'no sandbox, containers waiting',
    { observed: undefined, statuses: [waits('c')], phase: 'Pending' },
    [
      'PodReadyToStartContainers False PodSandboxNotReady: no pod sandbox exists',
      'Initialized True',
      'Ready False ContainersNotReady: containers with unready status: [c]',
      'ContainersReady False ContainersNotReady: containers with unready status: [c]',
      scheduled,
    ],
  ],
  [
    'no container statuses',
    { pod: pod({ initContainers: [container('i')] }), statuses: [], phase: 'Pending' },
    [
      'PodReadyToStartContainers True',
      'Initialized False UnknownContainerStatuses',
      'Ready False UnknownContainerStatuses',
      'ContainersReady False UnknownContainerStatuses',
      scheduled,
    ],
  ],
  [
    'one unknown, one unready, a sidecar before both',
    {
      pod: pod({ initContainers: [side], containers: [container('a'), container('b')] }),
      statuses: [up('side', false), up('b', false)],
    },
    [
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready False ContainersNotReady: containers with unknown status: [a], containers with unready status: [side b]',
      'ContainersReady False ContainersNotReady: containers with unknown status: [a], containers with unready status: [side b]',
      scheduled,
    ],
  ],
  [
    'init containers: one completed, one pending, one unknown',
    {
      pod: pod({ initContainers: [container('i1'), container('i2'), container('i3')] }),
      statuses: [done('i1'), waits('i2'), waits('c')],
      phase: 'Pending',
    },
    [
      'PodReadyToStartContainers True',
      'Initialized False ContainersNotInitialized: containers with unknown status: [i3], containers with incomplete status: [i2]',
      'Ready False ContainersNotReady: containers with unready status: [c]',
      'ContainersReady False ContainersNotReady: containers with unready status: [c]',
      scheduled,
    ],
  ],
  [
    'a restarting sidecar does not revert Initialized',
    { pod: pod({ initContainers: [side] }), statuses: [waits('side'), up('c')] },
    [
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready False ContainersNotReady: containers with unready status: [side]',
      'ContainersReady False ContainersNotReady: containers with unready status: [side]',
      scheduled,
    ],
  ],
  [
    'failed',
    { phase: 'Failed', observed: observedPod([], [sandbox({ ready: false })]) },
    [
      'PodReadyToStartContainers False PodSandboxNotReady: pod sandbox is not ready',
      'Initialized True',
      'Ready False PodFailed',
      'ContainersReady False PodFailed',
      scheduled,
    ],
  ],
  [
    'succeeded',
    { phase: 'Succeeded', statuses: [status('c', { state: { terminated: { exitCode: 0 } } })] },
    [
      'PodReadyToStartContainers True',
      'Initialized True PodCompleted',
      'Ready False PodCompleted',
      'ContainersReady False PodCompleted',
      scheduled,
    ],
  ],
  [
    'a readiness gate without its condition',
    { pod: pod(gates) },
    [
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready False ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/lb" does not exist.',
      'ContainersReady True',
      scheduled,
    ],
  ],
  [
    'a readiness gate that is False; foreign conditions come first',
    { pod: pod(gates), foreign: [lb('False')] },
    [
      'example.com/lb False',
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready False ReadinessGatesNotReady: the status of pod readiness gate "example.com/lb" is not "True", but False',
      'ContainersReady True',
      scheduled,
    ],
  ],
  [
    'a readiness gate that is True',
    { pod: pod(gates), foreign: [lb('True')] },
    [
      'example.com/lb True',
      'PodReadyToStartContainers True',
      'Initialized True',
      'Ready True',
      'ContainersReady True',
      scheduled,
    ],
  ],
];

describe('computeConditions', () => {
  for (const [name, fields, want] of cases) {
    test(name, () => expect(lines(computeConditions(view(fields)))).toEqual(want));
  }
});

describe('PodReadyToStartContainers', () => {
  const hostPod = pod({ hostNetwork: true });
  const sandboxes = [
    ['none', pod(), [], 'no pod sandbox exists'],
    ['one ready', pod(), [sandbox()], undefined],
    [
      'two ready',
      pod(),
      [sandbox(), sandbox()],
      'multiple pod sandboxes are ready and need to be reconciled',
    ],
    ['the newest is not ready', pod(), [sandbox({ ready: false }), sandbox()], 'pod sandbox is not ready'],
    ['an older one is not ready', pod(), [sandbox(), sandbox({ ready: false })], undefined],
    ['no address yet', pod(), [sandbox({ ips: [] })], 'pod sandbox has no IP address'],
    ['host network needs no address', hostPod, [sandbox({ ips: [], hostNetwork: true })], undefined],
    [
      'network mode changed',
      hostPod,
      [sandbox()],
      'network namespace mode changed and sandbox needs to be recreated',
    ],
  ] as const;
  for (const [name, spec, boxes, want] of sandboxes) {
    test(name, () => {
      const [first] = computeConditions(view({ pod: spec, observed: observedPod([], boxes) }));
      expect(lines(first === undefined ? [] : [first])).toEqual([
        want === undefined
          ? 'PodReadyToStartContainers True'
          : `PodReadyToStartContainers False PodSandboxNotReady: ${want}`,
      ]);
    });
  }

  test('is True as soon as the worker has created the sandbox, before it is observed', () => {
    const [first] = computeConditions(view({ observed: undefined, sandboxReady: true }));
    expect(first).toMatchObject({ status: 'True' });
    expect(first).not.toHaveProperty('reason');
  });
});

describe('transition times and generations', () => {
  const before: PodCondition[] = [
    { type: 'Ready', status: 'True', lastTransitionTime: startText },
    { type: 'ContainersReady', status: 'False', lastTransitionTime: startText },
  ];
  const find = (conditions: readonly PodCondition[], type: string): PodCondition | undefined =>
    conditions.find((condition) => condition.type === type);

  test('changes the transition time only with the status, truncated to the second', () => {
    const conditions = computeConditions(view({ before }));
    expect(find(conditions, 'Ready')?.lastTransitionTime).toBe(startText);
    expect(find(conditions, 'ContainersReady')?.lastTransitionTime).toBe(laterText);
  });

  test('reports the observed generation if the pod has one', () => {
    const numbered = pod({}, { metadata: { generation: 7 } });
    const generations = (spec: ConditionsView['pod']): unknown[] =>
      computeConditions(view({ pod: spec })).map((condition) => condition.observedGeneration);
    expect(generations(numbered)).toEqual([7, 7, 7, 7, 7]);
    expect(generations(pod())).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  test('stamps a shared condition when it is new', () => {
    const disruption: PodCondition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
    };
    const [first] = computeConditions(view({ foreign: [disruption] }));
    expect(first).toEqual({ ...disruption, lastTransitionTime: laterText });
  });

  test('changes only PodReadyToStartContainers once the pod is terminal', () => {
    const earlier = computeConditions(view({ statuses: [waits('c')], phase: 'Pending' }));
    const after = computeConditions(
      view({ before: earlier, phase: 'Failed', final: true, observed: undefined, statuses: [waits('c')] }),
    );
    expect(lines(after)).toEqual([
      'PodReadyToStartContainers False PodSandboxNotReady: no pod sandbox exists',
      'Initialized True',
      'Ready False ContainersNotReady: containers with unready status: [c]',
      'ContainersReady False ContainersNotReady: containers with unready status: [c]',
      scheduled,
    ]);
  });
});

describe('feature gates of conditions', () => {
  const off = { ...defaultStatusGates, PodObservedGenerationTracking: false };
  const spec = pod({}, { metadata: { generation: 3 } });
  const generations = (fields: Partial<ConditionsView>): unknown[] =>
    computeConditions(view({ pod: spec, ...fields })).map(({ observedGeneration }) => observedGeneration);

  test('omits PodReadyToStartContainers with its gate off', () => {
    const gatesOff = { ...defaultStatusGates, PodReadyToStartContainersCondition: false };
    const types = computeConditions(view({ gates: gatesOff })).map(({ type }) => type);
    expect(types).toEqual(['Initialized', 'Ready', 'ContainersReady', 'PodScheduled']);
  });

  test('reports the generation with every condition with PodObservedGenerationTracking on', () => {
    expect(generations({})).toEqual([3, 3, 3, 3, 3]);
  });

  test('reports the generation with the gate off only if it was reported before', () => {
    expect(generations({ gates: off })).toEqual(Array.from({ length: 5 }, () => undefined));
    const before = [{ type: 'Ready', status: 'True', observedGeneration: 1 }];
    expect(generations({ gates: off, before })).toEqual([undefined, undefined, 3, undefined, undefined]);
  });
});

test('reports resize conditions before the kubelet’s own, with their own times', () => {
  const condition = { message: 'full', generation: 3, sinceMs: 0, updatedMs: 60_000 };
  const resize = {
    pending: { ...condition, reason: 'Deferred' },
    inProgress: { ...condition, reason: '', message: '', generation: 2 },
  };
  const shown = (gates: Partial<ConditionsView['gates']> = {}): readonly PodCondition[] =>
    computeConditions(view({ resize, gates: { ...defaultStatusGates, ...gates } })).slice(0, 2);
  const times = { lastProbeTime: '1970-01-01T00:01:00Z', lastTransitionTime: '1970-01-01T00:00:00Z' };
  expect(shown()).toEqual([
    {
      type: 'PodResizePending',
      observedGeneration: 3,
      status: 'True',
      ...times,
      reason: 'Deferred',
      message: 'full',
    },
    { type: 'PodResizeInProgress', observedGeneration: 2, status: 'True', ...times },
  ]);
  expect(shown({ PodObservedGenerationTracking: false })[0]).not.toHaveProperty('observedGeneration');
  expect(shown({ InPlacePodVerticalScaling: false })[0]?.type).toBe('PodReadyToStartContainers');
});
