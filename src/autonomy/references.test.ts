import { expect, test } from 'vitest';
import type { PersistentVolumeSpec, Pod } from '../api/k8s/types.ts';
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

test('the secrets of volumes without a namespace are those of the claim', () => {
  const secrets = (spec: PersistentVolumeSpec): readonly string[] | undefined =>
    computeLinks(volume, { spec: { claimRef: { namespace: 'ns', name: 'data' }, ...spec } });
  expect(
    [
      secrets({ iscsi: { targetPortal: 't', iqn: 'q', lun: 0, secretRef: { name: 'chap' } } }),
      secrets({ flexVolume: { driver: 'd', secretRef: { name: 'flex', namespace: 'sys' } } }),
      secrets({ azureFile: { secretName: 'azure', shareName: 's' } }),
    ].flat(),
  ).toEqual(['secrets ns/chap', 'secrets sys/flex', 'secrets ns/azure']);
});

test("the secrets of a pod's own volumes are used", () => {
  const volumes = [
    { name: 'a', iscsi: { targetPortal: 't', iqn: 'q', lun: 0, secretRef: { name: 'chap' } } },
    { name: 'b', flexVolume: { driver: 'd', secretRef: { name: 'flex' } } },
    { name: 'c', azureFile: { secretName: 'azure', shareName: 's' } },
    { name: 'd', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
  ];
  const used = computeUsedByPod({ ...pod, spec: { containers: [], volumes } });
  expect(used?.objects).toEqual(['chap', 'flex', 'azure', 'csi'].map((name) => `secrets ns/${name}`));
});

test('a pod that is over uses nothing', () => {
  expect(computeUsedByPod({ ...pod, status: { phase: 'Succeeded' } })).toBeUndefined();
});

test('an unbound claim, and a volume without secrets, refer to nothing', () => {
  expect([computeLinks(claim, {}), computeLinks(volume, { spec: {} })]).toEqual([[], []]);
  expect(computeLinks({ kind: 'configmaps', key: 'ns/conf' }, {})).toBeUndefined();
});
