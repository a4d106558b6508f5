import { expect, test } from 'vitest';
import type { ResourceRequirements } from '../../api/k8s/types.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import type { PodAllocation } from './allocation-checkpoint.ts';
import { computeRecoveredAllocations } from './recover-allocations.ts';

function pods(cpuByPod: Readonly<Record<string, string>>, podLevel: ResourceRequirements | null = null) {
  const entries = Object.entries(cpuByPod).map(
    ([uid, cpu]) =>
      [asPodUid(uid), { containers: new Map([['c', { requests: { cpu } }]]), podLevel }] as const,
  );
  return new Map<ReturnType<typeof asPodUid>, PodAllocation>(entries);
}

const cases = [
  ['nothing known → nothing allocated', undefined, pods({}), {}],
  ['no predecessor → what containers were given', undefined, pods({ a: '2' }), { a: '2' }],
  ['an older predecessor does not revert a resize', pods({ a: '1' }), pods({ a: '2' }), { a: '2' }],
  [
    'a pod that has not started → its predecessor',
    pods({ a: '1', b: '3' }),
    pods({ a: '1' }),
    { a: '1', b: '3' },
  ],
  [
    'limits inherited from the pod are not those of the containers',
    pods({ a: '1' }),
    pods({ a: '2', b: '2' }, { limits: { cpu: '4' } }),
    { a: '1' },
  ],
  [
    'pod-level requests are not inherited',
    undefined,
    pods({ a: '2' }, { requests: { cpu: '4' } }),
    { a: '2' },
  ],
] as const;

for (const [title, previous, actuated, want] of cases)
  test(`computeRecoveredAllocations: ${title}`, () => {
    const recovered = computeRecoveredAllocations(previous, actuated);
    const cpus = [...recovered].map(([uid, pod]) => [uid, pod.containers.get('c')?.requests?.['cpu']]);
    expect(Object.fromEntries(cpus)).toEqual(want);
  });
