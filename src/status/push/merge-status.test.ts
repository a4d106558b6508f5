import { describe, expect, test } from 'vitest';
import type { ContainerState, ContainerStatus, PodCondition, PodStatus } from '../../api/k8s/types.ts';
import {
  laterMs,
  laterText,
  observedPod,
  pod,
  sandbox,
  startMs,
  startText,
  syncing,
  terminated,
  terminating,
} from '../fixtures/builders.ts';
import { couldHaveRunningContainers, mergePodStatus } from './merge-status.ts';

const ready = (is: string): PodCondition[] => [
  { type: 'Ready', status: is, lastTransitionTime: startText },
  { type: 'ContainersReady', status: is, lastTransitionTime: startText },
];
const merge = (api: PodStatus, status: PodStatus, couldHaveRunning = false): PodStatus =>
  mergePodStatus({ pod: pod(), api, status, couldHaveRunningContainers: couldHaveRunning, nowMs: laterMs });

describe('mergePodStatus', () => {
  const failed: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'low on memory', conditions: [] };

  test('holds a terminal phase back while a container may run', () => {
    expect(merge({ phase: 'Running' }, failed, true)).toEqual({ phase: 'Running' });
    expect(merge({ phase: 'Running' }, failed)).toEqual({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'low on memory',
    });
  });

  test('holds it back while the status shows a running container, although none was observed any more', () => {
    const status = (state: ContainerState): ContainerStatus[] => [
      { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state },
    ];
    const disruption = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: startText };
    for (const field of ['containerStatuses', 'initContainerStatuses']) {
      const stale = { ...failed, conditions: [disruption], [field]: status({ running: {} }) };
      const merged = merge({ phase: 'Running' }, stale);
      expect([merged.phase, merged.reason, merged.conditions]).toEqual(['Running', undefined, undefined]);
      const ended = { ...failed, [field]: status({ terminated: { exitCode: 1 } }) };
      expect(merge({ phase: 'Running' }, ended).phase).toBe('Failed');
    }
  });

  test('never reverts a terminal phase that was sent', () => {
    expect(merge({ phase: 'Failed' }, failed, true).phase).toBe('Failed');
  });

  test('keeps foreign conditions before its own, which replace the old ones', () => {
    const foreign = { type: 'example.com/x', status: 'True' };
    const merged = merge({ conditions: [...ready('False'), foreign] }, { conditions: ready('True') });
    expect(merged.conditions).toEqual([foreign, ...ready('True')]);
  });

  test('never reports Ready with a terminal phase', () => {
    const completed = {
      status: 'False',
      reason: 'PodCompleted',
      lastProbeTime: null,
      lastTransitionTime: laterText,
    };
    expect(merge({}, { phase: 'Succeeded', conditions: ready('True') }).conditions).toEqual([
      { type: 'Ready', ...completed },
      { type: 'ContainersReady', ...completed },
    ]);
  });

  const foreignFields: PodStatus = {
    resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'gpu-1' }],
    extendedResourceClaimStatus: { requestMappings: [], resourceClaimName: 'extended-1' },
    nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'cpu-1', containers: ['app'] }],
    volumeHealth: [{ name: 'data' }],
    ...({ ofALaterServer: { a: 1 } } as object),
  };
  for (const [field, value] of Object.entries(foreignFields))
    test(`keeps the API’s ${field}, and adds none of its own`, () => {
      const merged = merge({ [field]: value }, { phase: 'Running', [field]: [] });
      expect(merged).toEqual({ phase: 'Running', [field]: value });
    });

  test('adds no field that only others may set', () => {
    expect(merge({}, { phase: 'Running', resourceClaimStatuses: [{ name: 'x' }] })).toEqual({
      phase: 'Running',
    });
  });

  test('removes what the kubelet no longer reports', () => {
    expect(merge({ phase: 'Running', podIP: '10.0.0.1' }, { phase: 'Running' })).toEqual({
      phase: 'Running',
    });
  });

  describe('reports a disruption together with the terminal phase', () => {
    const disruption = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: startText };
    const ending: PodStatus = { phase: 'Failed', conditions: [disruption] };
    const other = { type: 'example.com/x', status: 'True' };
    const cases = [
      ['while a container may run: not yet', { phase: 'Running', conditions: [other] }, true, [other]],
      [
        'with the terminal phase: stamped now',
        { phase: 'Running', conditions: [other] },
        false,
        [other, { ...disruption, lastTransitionTime: laterText }],
      ],
      [
        'reported before: keeps its time',
        { phase: 'Running', conditions: [disruption, other] },
        false,
        [disruption, other],
      ],
      ['after the terminal phase: not again', { phase: 'Failed', conditions: [other] }, false, [other]],
    ] as const;
    for (const [name, api, couldRun, want] of cases) {
      test(name, () =>
        expect(merge({ ...api, conditions: [...api.conditions] }, ending, couldRun).conditions).toEqual(want),
      );
    }
  });
});

test('couldHaveRunningContainers: true while syncing, and while terminating until all has stopped', () => {
  const down = observedPod([], [sandbox({ ready: false })]);
  const rejected = { state: 'rejected', startedAtMs: startMs, reason: '', message: '' } as const;
  expect([
    couldHaveRunningContainers(syncing(), down),
    couldHaveRunningContainers(terminating, observedPod()),
    couldHaveRunningContainers(terminating, down),
    couldHaveRunningContainers(terminated, observedPod()),
    couldHaveRunningContainers(rejected, undefined),
    couldHaveRunningContainers(undefined, undefined),
  ]).toEqual([true, true, false, false, false, false]);
});
