import { expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import type { Container } from '../../api/k8s/types.ts';
import { exclusiveCpuCount, exclusivePodCpuCount } from './exclusive-cpu-count.ts';

const one = (cpu: string, over: Partial<Container> = {}): Container => {
  const list = { cpu, memory: '1Gi' };
  return aContainer({ resources: { requests: list, limits: list }, ...over });
};
const sidecar = (cpu: string): Container => one(cpu, { name: 's', restartPolicy: 'Always' });
const init = (cpu: string): Container => one(cpu, { name: 'i' });
const twoOfSpec = { cpu: '2', memory: '2Gi' };

/** Of the first regular container, and of the pod. */
const cases: Record<string, readonly [PodOver, number, number]> = {
  'whole CPUs': [{ containers: [one('2')] }, 2, 2],
  'whole CPUs in thousandths': [{ containers: [one('3000m')] }, 3, 3],
  'whole CPUs with a fraction of zero': [{ containers: [one('1.0')] }, 1, 1],
  'a part of a CPU': [{ containers: [one('1500m')] }, 0, 0],
  'less than a thousandth above': [{ containers: [one('1.0000001')] }, 0, 0],
  'no resources': [{ containers: [aContainer()] }, 0, 0],
  'Burstable pod': [
    { containers: [aContainer({ resources: { requests: twoOfSpec, limits: { cpu: '3', memory: '2Gi' } } })] },
    0,
    0,
  ],
  'pod-level resources': [
    { containers: [one('2')], resources: { requests: twoOfSpec, limits: twoOfSpec } },
    0,
    0,
  ],
  'init containers run one after the other': [
    { initContainers: [init('3'), init('2')], containers: [one('1'), one('1')] },
    1,
    3,
  ],
  'sidecars run beside everything after them': [
    { initContainers: [init('4'), sidecar('2'), init('3')], containers: [one('1')] },
    1,
    5,
  ],
  'sidecars count with the regular containers': [
    { initContainers: [sidecar('2')], containers: [one('2'), one('500m')] },
    2,
    4,
  ],
};
for (const [name, [over, container, whole]] of Object.entries(cases))
  test(`exclusiveCpuCount: ${name}`, () => {
    const pod = aPod(over);
    expect([
      exclusiveCpuCount(pod, pod.spec?.containers[0] ?? aContainer()),
      exclusivePodCpuCount(pod),
    ]).toEqual([container, whole]);
  });
