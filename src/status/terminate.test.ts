import { describe, expect, test } from 'vitest';
import type { ContainerStatus, PodStatus } from '../api/k8s/types.ts';
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
  startText,
  staticPod,
  terminated,
  terminating,
} from './fixtures/builders.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';

const first = (status: PodStatus): ContainerStatus => status.containerStatuses?.[0] as ContainerStatus;
const generate = (fields: Partial<StatusInput> = {}): PodStatus => generatePodStatus(input(fields));
const stopped = [sandbox({ ready: false, ips: [] })];

describe('while a pod terminates', () => {
  const both = pod({ containers: [container('a'), container('b')] });
  const ready = generate({ pod: both, observed: observedPod([running('a'), running('b')]) });

  test('reports exited containers together with the last one', () => {
    const half = generate({
      pod: both,
      observed: observedPod([exited('a', 143), running('b')]),
      lifecycle: terminating,
      previous: ready,
      nowMs: laterMs,
    });
    expect(half).toEqual(ready);
    const all = generate({
      pod: both,
      observed: observedPod([exited('a', 143), exited('b', 137)], stopped),
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

  test('keeps the state of containers that exited before', () => {
    const crashed = generate({ pod: both, observed: observedPod([exited('a', 1), running('b')]) });
    const next = generate({
      pod: both,
      observed: observedPod([exited('a', 1), running('b')]),
      lifecycle: terminating,
      previous: crashed,
    });
    expect(first(next).state?.terminated?.exitCode).toBe(1);
  });
});

describe('a terminated pod', () => {
  const initPod = pod({ initContainers: [container('i1'), container('i2')] });
  const states = (status: PodStatus): unknown =>
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
      ({ name, state }) => `${name} ${state?.terminated?.reason ?? state?.waiting?.reason}`,
    );

  test('reports a container whose exit was never observed as failed', () => {
    const status = generate({ observed: undefined, lifecycle: terminated });
    expect(status.phase).toBe('Failed');
    expect(states(status)).toEqual(['c ContainerStatusUnknown']);
  });

  test('keeps containers behind unfinished init containers waiting', () => {
    const status = generate({
      pod: initPod,
      observed: observedPod([exited('i1', 1)], stopped),
      lifecycle: terminated,
    });
    expect(status.phase).toBe('Failed');
    expect(states(status)).toEqual(['i1 Error', 'i2 PodInitializing', 'c PodInitializing']);
  });

  test('counts the first init container as attempted', () => {
    const status = generate({ pod: initPod, lifecycle: terminated });
    expect(states(status)).toEqual(['i1 ContainerStatusUnknown', 'i2 PodInitializing', 'c PodInitializing']);
  });

  test('counts regular containers as run after the last init container', () => {
    const observed = observedPod([exited('i2'), exited('i1')], stopped);
    const api = generate({ pod: initPod, observed });
    expect(states(generate({ pod: { ...initPod, status: api }, observed, lifecycle: terminated }))).toEqual([
      'i1 Completed',
      'i2 Completed',
      'c ContainerStatusUnknown',
    ]);
  });

  test('counts a started sidecar in last place as the end of initialization', () => {
    const sidePod = pod({ initContainers: [container('side', { restartPolicy: 'Always' })] });
    const observed = observedPod([running('side')], stopped);
    const api = generate({ pod: sidePod, observed });
    expect(states(generate({ pod: { ...sidePod, status: api }, observed, lifecycle: terminated }))).toEqual([
      'side ContainerStatusUnknown',
      'c ContainerStatusUnknown',
    ]);
  });

  test('does not count a sidecar that never started', () => {
    const probe = { tcpSocket: { port: 80 } };
    const side = container('side', { restartPolicy: 'Always', startupProbe: probe });
    const status = generate({
      pod: pod({ initContainers: [side] }),
      observed: observedPod([running('side')], stopped),
      lifecycle: terminated,
      probes: { started: () => false, ready: () => undefined },
    });
    expect(states(status)).toEqual(['side ContainerStatusUnknown', 'c PodInitializing']);
  });

  test('keeps regular containers waiting if the last init container completed only because the pod was terminated', () => {
    const single = pod({ initContainers: [container('i1')] });
    const api = generate({ pod: single, observed: observedPod([running('i1')]) });
    const lifecycle = { ...terminated, kill: { reason: 'Terminated', message: 'm' } };
    const observed = observedPod([exited('i1')], stopped);
    const last = generate({ pod: { ...single, status: api }, observed, lifecycle, previous: api });
    expect(states(last)).toEqual(['i1 Completed', 'c PodInitializing']);
    const again = generate({ pod: { ...single, status: last }, observed, lifecycle, previous: last });
    expect(again).toEqual(last);
  });

  test('reports the conditions of a failed pod that was killed before its containers started', () => {
    const kill = { reason: 'Terminated', message: 'm' };
    const reasons = ({ conditions = [] }: PodStatus): unknown =>
      Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
    const first = generate({ observed: observedPod(), lifecycle: { ...terminating, kill } });
    expect(reasons(first)).toMatchObject({ Ready: 'False ContainersNotReady' });
    const last = generate({
      observed: observedPod([], stopped),
      lifecycle: { ...terminated, kill },
      previous: first,
    });
    expect(reasons(last)).toMatchObject({ Ready: 'False PodFailed', ContainersReady: 'False PodFailed' });
    expect(generate({ lifecycle: { ...terminated, kill }, previous: last })).toEqual(last);
  });

  test('updates conditions until the phase is terminal and the worker has finished', () => {
    const reason = (fields: Partial<StatusInput>): unknown =>
      generate({ observed: observedPod([exited('c', 1)], stopped), ...fields }).conditions?.find(
        ({ type }) => type === 'Ready',
      )?.reason;
    const notReady = { type: 'Ready', status: 'False', reason: 'ContainersNotReady' };
    const failed: PodStatus = { phase: 'Failed', conditions: [notReady] };
    const up: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    expect(reason({ lifecycle: terminating, previous: failed })).toBe('PodFailed');
    expect(reason({ lifecycle: terminated, previous: up })).toBe('PodFailed');
    expect(reason({ lifecycle: terminated, previous: failed })).toBe('ContainersNotReady');
  });

  test('keeps the phase of a static pod, also when generated again', () => {
    const waiting = { pod: staticPod(), lifecycle: terminated };
    const status = generate(waiting);
    expect(status.phase).toBe('Pending');
    expect(states(status)).toEqual(['c ContainerStatusUnknown']);
    expect(generate({ ...waiting, previous: status })).toEqual(status);
  });
});
