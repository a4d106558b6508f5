import { describe, expect, test } from 'vitest';
import type { ContainerStatus, PodCondition } from '../api/k8s/types.ts';
import { type ConditionsView, computeConditions } from './conditions.ts';
import { container, laterMs, laterText, pod, sandbox, seen, startText, status } from './fixtures/builders.ts';
import { defaultStatusGates } from './status-gates.ts';

const up = (name: string, ready = true): ContainerStatus =>
  status(name, { state: { running: {} }, ready, started: true });
const waits = (name: string): ContainerStatus => status(name, { state: { waiting: {} }, started: false });
const done = (name: string): ContainerStatus =>
  status(name, { state: { terminated: { exitCode: 0 } }, ready: true, started: false });

function view(fields: Partial<ConditionsView> = {}): ConditionsView {
  return {
    pod: pod(),
    observed: seen(),
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
    'all is well',
    {},
    ['PodReadyToStartContainers True', 'Initialized True', 'Ready True', 'ContainersReady True', scheduled],
  ],
  [
    'no sandbox, containers wait',
    { observed: undefined, statuses: [waits('c')], phase: 'Pending' },
    [
      'PodReadyToStartContainers False',
      'Initialized True',
      'Ready False ContainersNotReady: containers with unready status: [c]',
      'ContainersReady False ContainersNotReady: containers with unready status: [c]',
      scheduled,
    ],
  ],
  [
    'nothing known of any container',
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
    'init containers: one done, one to come, one unknown',
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
    'a sidecar that restarts does not undo initialization',
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
    { phase: 'Failed', observed: seen([], [sandbox({ ready: false })]) },
    [
      'PodReadyToStartContainers False',
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
    'a readiness gate nobody answered',
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
    'a readiness gate that says no, kept in front',
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
    'a readiness gate that says yes',
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
    ['one ready', pod(), [sandbox()], 'True'],
    ['two ready', pod(), [sandbox(), sandbox()], 'False'],
    ['the newest is not ready', pod(), [sandbox({ ready: false }), sandbox()], 'False'],
    ['an old one is not ready', pod(), [sandbox(), sandbox({ ready: false })], 'True'],
    ['no address yet', pod(), [sandbox({ ips: [] })], 'False'],
    ['host network needs no address', hostPod, [sandbox({ ips: [], hostNetwork: true })], 'True'],
    ['network mode changed', hostPod, [sandbox()], 'False'],
  ] as const;
  for (const [name, spec, boxes, want] of sandboxes) {
    test(name, () => {
      const [first] = computeConditions(view({ pod: spec, observed: seen([], boxes) }));
      expect(first).toMatchObject({ type: 'PodReadyToStartContainers', status: want });
    });
  }
});

describe('what surrounds a condition', () => {
  const before: PodCondition[] = [
    { type: 'Ready', status: 'True', lastTransitionTime: startText },
    { type: 'ContainersReady', status: 'False', lastTransitionTime: startText },
  ];
  const find = (conditions: readonly PodCondition[], type: string): PodCondition | undefined =>
    conditions.find((condition) => condition.type === type);

  test('the transition time moves only with the status, cut to the second', () => {
    const conditions = computeConditions(view({ before }));
    expect(find(conditions, 'Ready')?.lastTransitionTime).toBe(startText);
    expect(find(conditions, 'ContainersReady')?.lastTransitionTime).toBe(laterText);
  });

  test('the generation is stated where the pod has one', () => {
    const numbered = pod({}, { metadata: { generation: 7 } });
    const generations = (spec: ConditionsView['pod']): unknown[] =>
      computeConditions(view({ pod: spec })).map((condition) => condition.observedGeneration);
    expect(generations(numbered)).toEqual([7, 7, 7, 7, 7]);
    expect(generations(pod())).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  test('a shared condition gets its time when it is new', () => {
    const disruption: PodCondition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
    };
    const [first] = computeConditions(view({ foreign: [disruption] }));
    expect(first).toEqual({ ...disruption, lastTransitionTime: laterText });
  });

  test('once terminal, only the sandbox still changes its condition', () => {
    const earlier = computeConditions(view({ statuses: [waits('c')], phase: 'Pending' }));
    const after = computeConditions(
      view({ before: earlier, phase: 'Failed', final: true, observed: undefined, statuses: [waits('c')] }),
    );
    expect(lines(after)).toEqual([
      'PodReadyToStartContainers False',
      'Initialized True',
      'Ready False ContainersNotReady: containers with unready status: [c]',
      'ContainersReady False ContainersNotReady: containers with unready status: [c]',
      scheduled,
    ]);
  });
});

describe('gates of conditions', () => {
  const off = { ...defaultStatusGates, PodObservedGenerationTracking: false };
  const spec = pod({}, { metadata: { generation: 3 } });
  const generations = (fields: Partial<ConditionsView>): unknown[] =>
    computeConditions(view({ pod: spec, ...fields })).map(({ observedGeneration }) => observedGeneration);

  test('PodReadyToStartContainersCondition off: not told', () => {
    const gatesOff = { ...defaultStatusGates, PodReadyToStartContainersCondition: false };
    const types = computeConditions(view({ gates: gatesOff })).map(({ type }) => type);
    expect(types).toEqual(['Initialized', 'Ready', 'ContainersReady', 'PodScheduled']);
  });

  test('PodObservedGenerationTracking on: told with every condition', () => {
    expect(generations({})).toEqual([3, 3, 3, 3, 3]);
  });

  test('PodObservedGenerationTracking off: not told, unless it was', () => {
    expect(generations({ gates: off })).toEqual(Array.from({ length: 5 }, () => undefined));
    const before = [{ type: 'Ready', status: 'True', observedGeneration: 1 }];
    expect(generations({ gates: off, before })).toEqual([undefined, undefined, 3, undefined, undefined]);
  });
});

test('a resize that waits and one under way are told before the kubelet’s own conditions, with their own times', () => {
  const told = { message: 'full', generation: 3, sinceMs: 0, updatedMs: 60_000 };
  const resize = {
    pending: { ...told, reason: 'Deferred' },
    inProgress: { ...told, reason: '', message: '', generation: 2 },
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
