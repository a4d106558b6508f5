import { describe, expect, test } from 'vitest';
import type { Pod, PodCondition, PodStatus } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asSandboxId } from '../api/pod/pod-ref.ts';
import {
  container,
  exited,
  input,
  laterMs,
  laterText,
  observedPod,
  pod,
  running,
  sandbox,
  startMs,
  startText,
  staticPod,
  syncing,
  terminated,
  terminating,
} from './fixtures/builders.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';
import { defaultStatusGates } from './status-gates.ts';

const generate = (fields: Partial<StatusInput> = {}): PodStatus => generatePodStatus(input(fields));
const stopped = [sandbox({ ready: false, ips: [] })];

test('generates the full status of a running static pod: no generation, fields in the API’s order', () => {
  const status = generate({
    pod: staticPod({ containers: [container('c', { resources: { requests: { cpu: '100m' } } })] }),
    observed: observedPod([running()]),
    hostIPs: ['192.0.2.7'],
  });
  expect(JSON.stringify(status)).toBe(
    JSON.stringify({
      phase: 'Running',
      conditions: [
        'PodReadyToStartContainers',
        'Initialized',
        'Ready',
        'ContainersReady',
        'PodScheduled',
      ].map((type) => ({ type, status: 'True', lastProbeTime: null, lastTransitionTime: startText })),
      hostIP: '192.0.2.7',
      hostIPs: [{ ip: '192.0.2.7' }],
      podIP: '10.0.0.5',
      podIPs: [{ ip: '10.0.0.5' }],
      startTime: startText,
      containerStatuses: [
        {
          name: 'c',
          state: { running: { startedAt: '2026-03-01T10:00:02Z' } },
          lastState: {},
          ready: true,
          restartCount: 0,
          image: 'registry.example/app:1',
          imageID: 'sha256:abc',
          containerID: 'containerd://c-1',
          started: true,
          allocatedResources: { cpu: '100m' },
          resources: { requests: { cpu: '100m' } },
        },
      ],
      qosClass: 'Burstable',
      allocatedResources: { cpu: '100m' },
      resources: { requests: { cpu: '100m' } },
    }),
  );
});

describe('phases', () => {
  const failed: PodStatus = { phase: 'Failed', reason: 'Evicted', message: 'node low on memory' };

  test('keeps a terminal phase with its reason and message', () => {
    const status = generate({ observed: observedPod([running()]), previous: failed });
    expect(status).toMatchObject(failed);
  });

  test('falls back to the reason and message of the API object', () => {
    const given: Pod = { ...pod(), status: { phase: 'Running', reason: 'Given', message: 'by another' } };
    const status = generate({
      pod: given,
      observed: observedPod([running()]),
      previous: { phase: 'Running' },
    });
    expect(status).toMatchObject({ reason: 'Given', message: 'by another' });
  });

  test('drops reason and message with their phase', () => {
    const status = generate({
      observed: observedPod([running()]),
      previous: { phase: 'Pending', reason: 'Old' },
    });
    expect(status).not.toHaveProperty('reason');
  });

  test('never replaces a terminal phase of the API with another', () => {
    const ended: Pod = { ...pod({ restartPolicy: 'Never' }), status: { phase: 'Succeeded' } };
    expect(generate({ pod: ended, observed: observedPod([exited('c', 1)], stopped) }).phase).toBe(
      'Succeeded',
    );
  });

  test('reports a killed pod as Failed while its containers still run', () => {
    const failure = { reason: 'Evicted', message: 'The node was low on resource: memory.' };
    const lifecycle = { ...terminating, kill: failure };
    const status = generate({ observed: observedPod([running()]), lifecycle });
    expect(status).toMatchObject({ phase: 'Failed', ...failure });
  });

  test('reports a killed pod as ready as its containers until they have stopped', () => {
    const lifecycle = { ...terminating, kill: { reason: 'Evicted', message: 'm' } };
    const ready = (observed: ObservedPod, previous?: PodStatus): PodCondition | undefined =>
      generate({ observed, lifecycle, ...(previous && { previous }) }).conditions?.find(
        ({ type }) => type === 'Ready',
      );
    expect(ready(observedPod([running()]))).toMatchObject({ status: 'True' });
    const previous = generate({ observed: observedPod([running()]), lifecycle });
    expect(ready(observedPod([running()]), previous)).toMatchObject({ status: 'True' });
    const ended = observedPod([exited('c', 137)], stopped);
    expect(ready(ended, previous)).toMatchObject({ status: 'False', reason: 'PodFailed' });
  });

  test('keeps a killed pod Failed with its reason, also if its containers exit with 0', () => {
    const kill = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };
    const previous = generate({ observed: observedPod([running()]), lifecycle: { ...terminating, kill } });
    for (const lifecycle of [terminating, terminated]) {
      const status = generate({
        observed: observedPod([exited('c', 0)], stopped),
        lifecycle: { ...lifecycle, kill },
        previous,
      });
      expect(status).toMatchObject({ phase: 'Failed', ...kill });
    }
  });

  test('reports why a pod was killed as a condition, which keeps its time', () => {
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: 'The node was low on resource: memory.',
    };
    const lifecycle = { ...terminating, kill: { reason: 'Evicted', message: 'm', condition } };
    const spec = pod({}, { metadata: { generation: 2 } });
    const of = ({ conditions }: PodStatus): unknown =>
      conditions?.filter(({ type }) => type === 'DisruptionTarget');
    const status = generate({ pod: spec, observed: observedPod([running()]), lifecycle });
    const want = [
      { ...condition, observedGeneration: 2, lastProbeTime: null, lastTransitionTime: startText },
    ];
    expect(of(status)).toEqual(want);
    const later = { pod: spec, observed: undefined, lifecycle: { ...terminated, kill: lifecycle.kill } };
    expect(of(generate({ ...later, previous: status, nowMs: laterMs }))).toEqual(want);
  });

  test('keeps phase and reason of a pod that was terminal in the API before it was killed', () => {
    const ended: Pod = { ...pod({ restartPolicy: 'Never' }), status: { phase: 'Succeeded' } };
    const kill = { reason: 'Evicted', message: 'm' };
    const status = generate({
      pod: ended,
      observed: observedPod([exited()], stopped),
      lifecycle: { ...terminated, kill },
    });
    expect(status.phase).toBe('Succeeded');
    expect(status).not.toHaveProperty('reason');
  });

  test('ignores containers of the old sandbox when a new one initializes', () => {
    const spec = pod({ initContainers: [container('side', { restartPolicy: 'Always' })] });
    const fresh = sandbox({ id: asSandboxId('s2'), attempt: 1 });
    const side = running('side', { sandboxId: asSandboxId('s2') });
    const boxes = [fresh, sandbox({ ready: false })];
    expect(generate({ pod: spec, observed: observedPod([side, exited('c', 137)], boxes) }).phase).toBe(
      'Pending',
    );
    const app = running('c', { sandboxId: asSandboxId('s2') });
    expect(generate({ pod: spec, observed: observedPod([app, side], boxes) }).phase).toBe('Running');
  });

  test('reports a rejected pod as Failed', () => {
    const spec = pod({}, { metadata: { generation: 1 } });
    const lifecycle = {
      state: 'rejected',
      startedAtMs: startMs,
      reason: 'OutOfcpu',
      message: 'no room',
    } as const;
    expect(generate({ pod: spec, lifecycle })).toEqual({
      observedGeneration: 1,
      phase: 'Failed',
      message: 'Pod was rejected: no room',
      reason: 'OutOfcpu',
      startTime: startText,
      qosClass: 'BestEffort',
    });
  });
});

describe('times and generations', () => {
  test('keeps the start time of the first status', () => {
    expect(generate({ previous: { startTime: laterText } }).startTime).toBe(laterText);
    expect(generate({ pod: { ...pod(), status: { startTime: laterText } } }).startTime).toBe(laterText);
  });

  test('derives the start time from the oldest sandbox after a restart of the kubelet', () => {
    const lifecycle = { ...syncing(), startedAtMs: laterMs };
    const boxes = [
      sandbox({ createdAtMs: startMs + 60_000 }),
      sandbox({ ready: false, createdAtMs: startMs }),
    ];
    expect(generate({ lifecycle, observed: observedPod([running()], boxes) }).startTime).toBe(startText);
  });

  test('never decreases the observed generation', () => {
    const spec = pod({}, { metadata: { generation: 2 } });
    expect(generate({ pod: spec }).observedGeneration).toBe(2);
    expect(generate({ pod: spec, previous: { observedGeneration: 3 } }).observedGeneration).toBe(3);
    expect(generate({})).not.toHaveProperty('observedGeneration');
  });

  test('reports the generation with its gate off only if it was reported before', () => {
    const gates = { ...defaultStatusGates, PodObservedGenerationTracking: false };
    const spec = pod({}, { metadata: { generation: 2 } });
    expect(generate({ pod: spec, gates })).not.toHaveProperty('observedGeneration');
    expect(generate({ pod: spec, gates, previous: { observedGeneration: 1 } }).observedGeneration).toBe(2);
  });

  test('keeps foreign conditions and the shared one', () => {
    const foreign = { type: 'example.com/x', status: 'True' };
    const mine = { type: 'DisruptionTarget', status: 'True', lastTransitionTime: startText };
    const types = (fields: Partial<StatusInput>): unknown => generate(fields).conditions?.slice(0, 2);
    const owned = { type: 'Ready', status: 'Unknown' };
    const given: Pod = { ...pod(), status: { conditions: [foreign, owned] } };
    expect(types({ pod: given, previous: { conditions: [mine] } })).toEqual([foreign, mine]);
    const both: Pod = { ...pod(), status: { conditions: [{ ...mine, status: 'False' }, foreign] } };
    expect(types({ pod: both, previous: { conditions: [mine] } })).toEqual([mine, foreign]);
  });
});

test('reports the health of the devices of regular containers, and keeps it when the pod has released them', () => {
  const health = [{ name: 'example.com/d', resources: [{ resourceID: 'd0', health: 'Healthy' }] }];
  const status = generate({ devices: () => health });
  expect(status.containerStatuses?.map((each) => each.allocatedResourcesStatus)).toEqual([health]);
  expect(generate({ devices: () => [] }).containerStatuses?.[0]).not.toHaveProperty(
    'allocatedResourcesStatus',
  );
  const ended = generate({
    previous: status,
    devices: () => [],
    lifecycle: { state: 'terminated', startedAtMs: 0, atMs: 0, cleaned: true },
  });
  expect(ended.containerStatuses?.[0]?.allocatedResourcesStatus).toEqual(health);
});
