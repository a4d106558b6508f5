import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { podRow } from './pod-row.ts';

const uid = asPodUid('u');
const terminating: PodLifecycle = {
  state: 'terminating',
  startedAtMs: 0,
  graceSeconds: 30,
  sinceMs: 0,
  why: '',
  explain: '',
};
const row = (over: Partial<Parameters<typeof podRow>[0]> = {}) =>
  podRow({
    uid,
    pod: aPod({ annotations: { 'kubernetes.io/config.source': 'api' } }),
    name: { namespace: '', name: '' },
    isRemoved: false,
    status: { phase: 'Running', startTime: '2026-01-01T00:00:01Z', podIP: '10.0.0.9' },
    lifecycle: undefined,
    sentence: { text: 'running as specified', sinceMs: 5 },
    ...over,
  });

test('a row has the columns of the pod, its sentence and its source', () => {
  expect(row()).toEqual({
    uid: 'u',
    namespace: 'default',
    name: 'p',
    status: 'Running',
    tone: 'busy',
    sentence: 'running as specified',
    sinceMs: 5,
    ready: 0,
    containers: 1,
    restarts: 0,
    lastRestartMs: undefined,
    createdMs: Date.UTC(2026, 0, 1, 0, 0, 1),
    ip: '10.0.0.9',
    source: 'api',
  });
});

test('the creation of the API object takes precedence over the start', () => {
  const pod: Pod = { ...aPod(), metadata: { creationTimestamp: '2025-12-31T00:00:00Z' } };
  expect(row({ pod }).createdMs).toBe(Date.UTC(2025, 11, 31));
});

test.each([
  ['a pod that its source removed is terminating', { isRemoved: true }, 'Terminating'],
  ['a static pod that is replaced is terminating', { lifecycle: terminating }, 'Terminating'],
  [
    'a pod that the kubelet evicts keeps its reason',
    {
      lifecycle: { ...terminating, kill: { reason: 'Evicted', message: '', evicted: true } },
      status: { phase: 'Failed', reason: 'Evicted' },
    },
    'Evicted',
  ],
] as const)('%s', (_, over, want) => expect(row(over).status).toBe(want));

test('a rejected pod is bad', () => {
  const lifecycle: PodLifecycle = { state: 'rejected', startedAtMs: 0, reason: 'OutOfcpu', message: '' };
  expect(row({ lifecycle, status: undefined }).tone).toBe('bad');
});

test('a pod that only the runtime knows has the name of its sandbox', () => {
  const found = row({ pod: undefined, name: { namespace: 'ns', name: 'left' }, isRemoved: true });
  expect([found.namespace, found.name, found.status]).toEqual(['ns', 'left', 'Terminating']);
});

test('texts are bounded', () => {
  const long = 'x'.repeat(100_000);
  const big = row({
    pod: aPod({ name: long, namespace: long, annotations: { 'kubernetes.io/config.source': long } }),
    status: { reason: long, podIP: long },
    sentence: { text: long },
  });
  expect(JSON.stringify(big).length).toBeLessThan(5_000);
});
