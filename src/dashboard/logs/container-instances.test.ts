import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { ContainerState, PodStatus } from '../../api/k8s/types.ts';
import { containerInstances } from './container-instances.ts';

const pod = aPod({ name: 'web', containers: [aContainer({ name: 'c' })] });
const choose = (_status: PodStatus, name: string, previous: boolean) =>
  previous ? { error: 'none' } : { id: `containerd://id-of-${name}` };

const cases: readonly (readonly [want: string, state: ContainerState])[] = [
  ['running', { running: {} }],
  ['waiting', {}],
  ['waiting: CrashLoopBackOff', { waiting: { reason: 'CrashLoopBackOff' } }],
  ['terminated: Error, exit code 2', { terminated: { exitCode: 2, reason: 'Error' } }],
];
for (const [want, state] of cases) {
  test(`containerInstances: ${want}`, () => {
    const container = { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state };
    const status: PodStatus = { containerStatuses: [container] };
    expect(containerInstances(pod, status, choose)).toEqual([
      { name: 'c', state: want, current: 'id-of-c', previous: undefined, isFinal: false },
    ]);
  });
}

test('no instance follows once the pod has ended', () => {
  expect(containerInstances(pod, { phase: 'Failed' }, choose)[0]?.isFinal).toBe(true);
});
