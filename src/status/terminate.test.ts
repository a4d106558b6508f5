import { describe, expect, test } from 'vitest';
import type { ContainerStatus, PodStatus } from '../api/k8s/types.ts';
import {
  container,
  exited,
  input,
  laterMs,
  laterText,
  pod,
  running,
  sandbox,
  seen,
  startText,
  staticPod,
  terminated,
  terminating,
} from './fixtures/builders.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';

const first = (status: PodStatus): ContainerStatus => status.containerStatuses?.[0] as ContainerStatus;
const generate = (fields: Partial<StatusInput> = {}): PodStatus => generatePodStatus(input(fields));
const stopped = [sandbox({ ready: false, ips: [] })];

describe('while a pod is being stopped', () => {
  const both = pod({ containers: [container('a'), container('b')] });
  const ready = generate({ pod: both, observed: seen([running('a'), running('b')]) });

  test('what has ended is reported together with the rest', () => {
    const half = generate({
      pod: both,
      observed: seen([exited('a', 143), running('b')]),
      lifecycle: terminating,
      previous: ready,
      nowMs: laterMs,
    });
    expect(half).toEqual(ready);
    const all = generate({
      pod: both,
      observed: seen([exited('a', 143), exited('b', 137)], stopped),
      lifecycle: terminating,
      previous: half,
      nowMs: laterMs,
    });
    expect(all.phase).toBe('Failed');
    expect(all.podIP).toBe('10.0.0.5');
    expect(all.containerStatuses?.map((each) => each.state?.terminated?.exitCode)).toEqual([143, 137]);
    expect(
      all.conditions?.map(
        ({ type, status, lastTransitionTime }) => `${type} ${status} ${lastTransitionTime}`,
      ),
    ).toEqual([
      `PodReadyToStartContainers False ${laterText}`,
      `Initialized True ${startText}`,
      `Ready False ${laterText}`,
      `ContainersReady False ${laterText}`,
      `PodScheduled True ${startText}`,
    ]);
  });

  test('what had ended before keeps its end', () => {
    const crashed = generate({ pod: both, observed: seen([exited('a', 1), running('b')]) });
    const next = generate({
      pod: both,
      observed: seen([exited('a', 1), running('b')]),
      lifecycle: terminating,
      previous: crashed,
    });
    expect(first(next).state?.terminated?.exitCode).toBe(1);
  });
});

describe('the end', () => {
  const initPod = pod({ initContainers: [container('i1'), container('i2')] });
  const states = (status: PodStatus): unknown =>
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
      ({ name, state }) => `${name} ${state?.terminated?.reason ?? state?.waiting?.reason}`,
    );

  test('what was never seen to end has failed', () => {
    const status = generate({ observed: undefined, lifecycle: terminated });
    expect(status.phase).toBe('Failed');
    expect(states(status)).toEqual(['c ContainerStatusUnknown']);
  });

  test('containers behind unfinished init containers still wait', () => {
    const status = generate({
      pod: initPod,
      observed: seen([exited('i1', 1)], stopped),
      lifecycle: terminated,
    });
    expect(status.phase).toBe('Failed');
    expect(states(status)).toEqual(['i1 Error', 'i2 PodInitializing', 'c PodInitializing']);
  });

  test('the first init container counts as tried', () => {
    const status = generate({ pod: initPod, lifecycle: terminated });
    expect(states(status)).toEqual(['i1 ContainerStatusUnknown', 'i2 PodInitializing', 'c PodInitializing']);
  });

  test('after the last init container the others should have run', () => {
    const observed = seen([exited('i2'), exited('i1')], stopped);
    expect(states(generate({ pod: initPod, observed, lifecycle: terminated }))).toEqual([
      'i1 Completed',
      'i2 Completed',
      'c ContainerStatusUnknown',
    ]);
  });

  test('a started sidecar in last place is the end of initialization', () => {
    const sidePod = pod({ initContainers: [container('side', { restartPolicy: 'Always' })] });
    const observed = seen([running('side')], stopped);
    expect(states(generate({ pod: sidePod, observed, lifecycle: terminated }))).toEqual([
      'side ContainerStatusUnknown',
      'c ContainerStatusUnknown',
    ]);
  });

  test('a sidecar that never started is not', () => {
    const probe = { tcpSocket: { port: 80 } };
    const side = container('side', { restartPolicy: 'Always', startupProbe: probe });
    const status = generate({
      pod: pod({ initContainers: [side] }),
      observed: seen([running('side')], stopped),
      lifecycle: terminated,
      probes: { started: () => false, ready: () => undefined },
    });
    expect(states(status)).toEqual(['side ContainerStatusUnknown', 'c PodInitializing']);
  });

  test('conditions follow the phase until it was terminal and the worker is done', () => {
    const reason = (fields: Partial<StatusInput>): unknown =>
      generate({ observed: seen([exited('c', 1)], stopped), ...fields }).conditions?.find(
        ({ type }) => type === 'Ready',
      )?.reason;
    const notReady = { type: 'Ready', status: 'False', reason: 'ContainersNotReady' };
    const failed: PodStatus = { phase: 'Failed', conditions: [notReady] };
    const up: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    expect(reason({ lifecycle: terminating, previous: failed })).toBe('PodFailed');
    expect(reason({ lifecycle: terminated, previous: up })).toBe('PodFailed');
    expect(reason({ lifecycle: terminated, previous: failed })).toBe('ContainersNotReady');
  });

  test('a static pod keeps its phase, and keeps it when looked at again', () => {
    const waiting = { pod: staticPod(), lifecycle: terminated };
    const status = generate(waiting);
    expect(status.phase).toBe('Pending');
    expect(states(status)).toEqual(['c ContainerStatusUnknown']);
    expect(generate({ ...waiting, previous: status })).toEqual(status);
  });
});
