import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import type { Pod, Toleration } from '../../api/k8s/types.ts';
import { admitUnderPressure } from './admit-under-pressure.ts';

const resources = (requests: Record<string, string>, limits = {}): Pod =>
  aPod({ containers: [aContainer({ resources: { requests, limits } })] });
const both = { cpu: '1', memory: '1Gi' };
const guaranteed = resources(both, both);
const burstable = resources({ cpu: '100m' });
const bestEffort = aPod();
const tolerating = (toleration: Toleration): Pod => aPod({ tolerations: [toleration] });
const memoryTaint = 'node.kubernetes.io/memory-pressure';

test.each([
  ['no condition: Guaranteed', guaranteed, [], undefined],
  ['no condition: Burstable', burstable, [], undefined],
  ['no condition: BestEffort', bestEffort, [], undefined],
  ['memory: Guaranteed', guaranteed, ['MemoryPressure'], undefined],
  ['memory: Burstable', burstable, ['MemoryPressure'], undefined],
  ['memory: BestEffort', bestEffort, ['MemoryPressure'], '[MemoryPressure]'],
  [
    'memory: BestEffort that tolerates it',
    tolerating({ key: memoryTaint, operator: 'Exists', effect: 'NoSchedule' }),
    ['MemoryPressure'],
    undefined,
  ],
  [
    'memory: BestEffort that tolerates all',
    tolerating({ operator: 'Exists' }),
    ['MemoryPressure'],
    undefined,
  ],
  [
    'memory: BestEffort that tolerates another effect',
    tolerating({ key: memoryTaint, operator: 'Exists', effect: 'NoExecute' }),
    ['MemoryPressure'],
    '[MemoryPressure]',
  ],
  [
    'memory: BestEffort that tolerates disk pressure',
    tolerating({ key: 'node.kubernetes.io/disk-pressure', operator: 'Exists' }),
    ['MemoryPressure'],
    '[MemoryPressure]',
  ],
  ['disk: Guaranteed', guaranteed, ['DiskPressure'], '[DiskPressure]'],
  ['processes: Guaranteed', guaranteed, ['PIDPressure'], '[PIDPressure]'],
  ['disk: tolerations do not help', tolerating({ operator: 'Exists' }), ['DiskPressure'], '[DiskPressure]'],
  [
    'memory and disk: Guaranteed',
    guaranteed,
    ['MemoryPressure', 'DiskPressure'],
    '[MemoryPressure DiskPressure]',
  ],
  [
    'memory and disk: Burstable',
    burstable,
    ['MemoryPressure', 'DiskPressure'],
    '[MemoryPressure DiskPressure]',
  ],
  [
    'memory and disk: BestEffort',
    bestEffort,
    ['MemoryPressure', 'DiskPressure'],
    '[MemoryPressure DiskPressure]',
  ],
  ['a critical pod', aPod({ priority: 2_000_000_000 }), ['MemoryPressure', 'DiskPressure'], undefined],
  [
    'a static pod',
    aPod({ annotations: { 'kubernetes.io/config.source': 'file' } }),
    ['PIDPressure'],
    undefined,
  ],
] as const)('%s', (_name, pod, conditions, shown) => {
  const rejection = { reason: 'Evicted', message: `The node had condition: ${shown}. ` };
  expect(admitUnderPressure(pod, conditions)).toEqual(shown === undefined ? undefined : rejection);
});

test('pod-level resources decide the QoS class only with their gate', () => {
  const pod = aPod({ resources: { requests: { memory: '1Gi' } } });
  expect(admitUnderPressure(pod, ['MemoryPressure'])).toBeUndefined();
  expect(admitUnderPressure(pod, ['MemoryPressure'], { skipPodLevelResources: true })).toBeDefined();
});
