import { expect, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  exited,
} from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { PodResizeConditions } from './pod-resize-conditions.ts';
import { resizeCompleted, resizeFailed, resizePending, resizeStarted } from './resize-events.ts';
import { alreadySized, isInProgress } from './resize-progress.ts';

const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } };
const pod = aPod({ containers: [aContainer({ resources })] });
const reported = { cpuRequestMilli: 100n, cpuLimitMilli: 1000n, memoryLimitBytes: 128n << 20n };
const running = (over = {}) => anObservedPod({ containers: [anObservedContainer(over)] });

const progress: readonly (readonly [
  string,
  ReturnType<typeof running> | undefined,
  ResourceRequirements | undefined,
  boolean,
])[] = [
  ['actuated as allocated', running(), resources, false],
  [
    'actuated as allocated, spelled differently',
    running(),
    { ...resources, limits: { cpu: '1000m', memory: '131072Ki' } },
    false,
  ],
  ['actuated with less', running(), { requests: { cpu: '100m' } }, true],
  ['no actuated record', running(), undefined, true],
  ['not running', anObservedPod({ containers: [exited(1)] }), undefined, false],
  ['not observed', undefined, undefined, false],
];
for (const [name, observed, actuated, want] of progress)
  test(`isInProgress: ${name} → ${want}`, () =>
    expect(isInProgress(pod, observed, { container: () => actuated })).toBe(want));

test('accepts a container without an actuated record if the runtime reports its allocated resources', () => {
  const sized = (observed: object, actuated?: ResourceRequirements): readonly string[] =>
    alreadySized(pod, running({ resources: observed }), { container: () => actuated }).map(
      ({ name }) => name,
    );
  expect(sized(reported)).toEqual(['c']);
  expect(sized({ ...reported, memoryLimitBytes: 1n })).toEqual([]);
  expect(sized({ ...reported, cpuRequestMilli: 500n })).toEqual([]);
  expect(sized({ ...reported, cpuLimitMilli: 500n })).toEqual([]);
  expect(sized(reported, {})).toEqual([]);
  const small = aPod({ containers: [aContainer({ resources: { limits: { cpu: '1m' } } })] });
  const minimum = { cpuLimitMilli: 10n, cpuRequestMilli: 2n };
  expect(alreadySized(small, running({ resources: minimum }), { container: () => undefined })).toHaveLength(
    1,
  );
});

test('a resize of pod-level resources is in progress until the cgroup and the containers that inherit limits have them', () => {
  const own = (limit: string): ResourceRequirements => ({
    requests: { cpu: '100m' },
    limits: { memory: limit },
  });
  const sized = aPod({ resources: own('128Mi'), containers: [aContainer()] });
  const progressOf = (container: ResourceRequirements, podLevel?: ResourceRequirements | null): boolean =>
    isInProgress(sized, running(), { container: () => container, podLevel: { actuated: podLevel } });
  expect(progressOf({ limits: { memory: '128Mi' } }, own('128Mi'))).toBe(false);
  expect(progressOf({}, own('128Mi'))).toBe(false);
  expect(progressOf({ limits: { memory: '64Mi' } }, own('128Mi'))).toBe(true);
  expect(progressOf({ limits: { memory: '128Mi' } }, own('64Mi'))).toBe(true);
  // Not recorded by the kubelet that started the pod.
  expect(progressOf({})).toBe(false);
});

test('a running plain init container counts', () => {
  const starting = aPod({
    initContainers: [aContainer({ name: 'i', resources })],
    containers: [aContainer()],
  });
  const seen = anObservedPod({ containers: [anObservedContainer({ name: 'i' })] });
  expect(isInProgress(starting, seen, { container: () => ({}) })).toBe(true);
  expect(isInProgress(starting, seen, { container: () => resources })).toBe(false);
});

test("the events name every container with its resources, the spec's generation and the error", () => {
  const many = aPod({
    initContainers: [aContainer({ name: 'init' })],
    containers: [aContainer({ resources: { requests: { memory: '64Mi', cpu: '100m' } } })],
  });
  const containers =
    '"initContainers":[{"name":"init","resources":{}}],"containers":[{"name":"c","resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]';
  const lines = [
    resizeStarted(many, 2),
    resizeCompleted(many, 2),
    resizePending(many, 3, 'OutOfcpu', 'no "room"'),
    resizePending(many, 3, 'Infeasible', 'never'),
    resizeFailed(many, 4, 'refused'),
  ].map(({ message, reason, type }) => `${type} ${reason} ${message}`);
  expect(lines).toEqual([
    `Normal ResizeStarted Pod resize started: {${containers},"generation":2}`,
    `Normal ResizeCompleted Pod resize completed: {${containers},"generation":2}`,
    `Warning ResizeDeferred Pod resize OutOfcpu: {${containers},"generation":3,"error":"no \\"room\\""}`,
    `Warning ResizeInfeasible Pod resize Infeasible: {${containers},"generation":3,"error":"never"}`,
    `Warning ResizeError Pod resize error: {${containers},"generation":4,"error":"refused"}`,
  ]);
});

test('announces a condition once, changes its time with the reason and keeps the generation of the resize', async () => {
  const clock = new FakeClock(1_000);
  const store = new PodResizeConditions(clock);
  const uid = asPodUid('uid-p');
  const changes: string[] = [];
  store.changed.subscribe(() => void changes.push(JSON.stringify(store.get(uid) ?? null)));
  store.setPending(uid, { reason: 'Deferred', message: 'full', generation: 2 });
  await clock.advance(1_000);
  store.setPending(uid, { reason: 'Deferred', message: 'full', generation: 2 });
  expect([changes.length, store.isDeferred(uid)]).toEqual([1, true]);
  store.setPending(uid, { reason: 'Deferred', message: 'fuller', generation: 2 });
  expect(store.get(uid)?.pending).toEqual({
    reason: 'Deferred',
    message: 'fuller',
    generation: 2,
    sinceMs: 1_000,
    updatedMs: 2_000,
  });
  store.begin(uid, 3);
  store.setInProgress(uid, { reason: 'Error', message: 'no', generation: 4 });
  store.setInProgress(uid, { reason: '', message: '', generation: 5 });
  expect(store.get(uid)).toEqual({
    inProgress: { reason: 'Error', message: 'no', generation: 3, sinceMs: 2_000, updatedMs: 2_000 },
  });
  store.begin(uid, 6);
  expect(store.get(uid)?.inProgress).toMatchObject({ reason: '', generation: 6 });
  expect([store.clearInProgress(uid), store.clearInProgress(uid), store.get(uid)]).toEqual([
    6,
    undefined,
    undefined,
  ]);
});

test('adopts the conditions that an earlier process reported', () => {
  const store = new PodResizeConditions(new FakeClock(0));
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const conditions = [
    {
      type: 'PodResizeInProgress',
      status: 'True',
      observedGeneration: 4,
      lastTransitionTime,
    },
    { type: 'Ready', status: 'True' },
  ];
  store.backfill({ ...pod, status: { conditions } });
  expect(store.get(asPodUid('uid-p'))).toEqual({
    inProgress: {
      reason: '',
      message: '',
      generation: 4,
      sinceMs: Date.parse(lastTransitionTime),
      updatedMs: 0,
    },
  });
});
