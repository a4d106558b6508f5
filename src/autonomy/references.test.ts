import { expect, test } from 'vitest';
import type { Pod } from '../api/k8s/types.ts';
import { computeLinks, computeUsedByPod, computeWanted } from './references.ts';

const pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: {
    serviceAccountName: 'a',
    imagePullSecrets: [{ name: 'pull' }],
    containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'conf' } }] }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
  },
} as Pod;

const claim = { kind: 'persistentvolumeclaims', key: 'ns/data' } as const;
const volume = { kind: 'persistentvolumes', key: 'pv1' } as const;

test('a pod uses what it refers to, its claims use volumes, and those use secrets', () => {
  const links = new Map([
    ['persistentvolumeclaims ns/data', computeLinks(claim, { spec: { volumeName: 'pv1' } }) ?? []],
    [
      'persistentvolumes pv1',
      computeLinks(volume, { spec: { csi: { nodeStageSecretRef: { name: 'stage', namespace: 'sys' } } } }) ??
        [],
    ],
    ['persistentvolumes other', ['secrets sys/other']],
  ]);
  const used = computeUsedByPod(pod);
  const wanted = computeWanted(new Map(used === undefined ? [] : [['u', used]]), links);
  expect([...wanted.objects].toSorted()).toEqual([
    'configmaps ns/conf',
    'persistentvolumeclaims ns/data',
    'persistentvolumes pv1',
    'secrets ns/pull',
    'secrets sys/stage',
    'serviceaccounts ns/a',
  ]);
  expect([[...wanted.podUids], [...wanted.namespaces]]).toEqual([['u'], ['ns']]);
});

test('a pod that is over uses nothing', () => {
  expect(computeUsedByPod({ ...pod, status: { phase: 'Succeeded' } })).toBeUndefined();
});

test('an unbound claim, and a volume without secrets, refer to nothing', () => {
  expect([computeLinks(claim, {}), computeLinks(volume, { spec: {} })]).toEqual([[], []]);
  expect(computeLinks({ kind: 'configmaps', key: 'ns/conf' }, {})).toBeUndefined();
});
