// One row per field and error of a PersistentVolume.
import { expect, test } from 'vitest';
import { migratedFields } from '../../api/k8s/migrated-plugins.ts';
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
} from '../../api/k8s/types.ts';
import { translatePersistent } from './translate.ts';

const aPersistent = (spec: PersistentVolumeSpec, metadata = {}): PersistentVolume => ({
  metadata: { name: 'pv', ...metadata },
  spec: { accessModes: ['ReadWriteMany'], ...spec },
});

type Row = readonly [name: string, spec: PersistentVolumeSpec, csi: CSIPersistentVolumeSource];

const disk = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d';
const rows: readonly Row[] = [
  [
    'aws-ebs: file system, partition, read-only',
    { awsElasticBlockStore: { volumeID: 'vol-1', fsType: 'xfs', partition: 2, readOnly: true } },
    {
      driver: 'ebs.csi.aws.com',
      volumeHandle: 'vol-1',
      fsType: 'xfs',
      readOnly: true,
      volumeAttributes: { partition: '2' },
    },
  ],
  [
    'aws-ebs: URL, partition 0',
    { awsElasticBlockStore: { volumeID: 'aws://eu-1a/vol-1' } },
    { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1', volumeAttributes: { partition: '0' } },
  ],
  [
    'gce-pd: neither zone nor partition',
    { gcePersistentDisk: { pdName: 'd' } },
    {
      driver: 'pd.csi.storage.gke.io',
      volumeHandle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
      volumeAttributes: { partition: '' },
    },
  ],
  [
    'cinder: its secret is left to the driver',
    { cinder: { volumeID: 'id', fsType: 'ext4', readOnly: true, secretRef: { name: 's' } } },
    { driver: 'cinder.csi.openstack.org', volumeHandle: 'id', fsType: 'ext4', readOnly: true },
  ],
  [
    'azure-disk: all fields, kind in other letters',
    {
      azureDisk: {
        diskName: 'd',
        diskURI: disk,
        kind: 'managed',
        cachingMode: 'None',
        fsType: 'xfs',
        readOnly: true,
      },
    },
    {
      driver: 'disk.csi.azure.com',
      volumeHandle: disk,
      fsType: 'xfs',
      readOnly: true,
      volumeAttributes: { kind: 'Managed', cachingmode: 'None', fstype: 'xfs' },
    },
  ],
  [
    'azure-disk: an empty caching mode and file system stay attributes',
    { azureDisk: { diskName: 'd', diskURI: disk, cachingMode: '', fsType: '' } },
    {
      driver: 'disk.csi.azure.com',
      volumeHandle: disk,
      volumeAttributes: { kind: 'Managed', cachingmode: '', fstype: '' },
    },
  ],
  [
    'azure-file: account from the secret name, namespace from the source',
    {
      azureFile: { secretName: 'azure-storage-account-a-secret', shareName: 's', secretNamespace: 'ns' },
      claimRef: { namespace: 'other' },
    },
    {
      driver: 'file.csi.azure.com',
      volumeHandle: '#a#s#pv#ns',
      volumeAttributes: { sharename: 's' },
      nodeStageSecretRef: { name: 'azure-storage-account-a-secret', namespace: 'ns' },
    },
  ],
  [
    'azure-file: other secret name, namespace from the claim',
    { azureFile: { secretName: 'x', shareName: 's', readOnly: true }, claimRef: { namespace: 'c' } },
    {
      driver: 'file.csi.azure.com',
      volumeHandle: '#x#s#pv#c',
      readOnly: true,
      volumeAttributes: { sharename: 's' },
      nodeStageSecretRef: { name: 'x', namespace: 'c' },
    },
  ],
  [
    'vsphere-volume: storage policy, no policy ID',
    {
      vsphereVolume: { volumePath: '[ds] d', fsType: 'xfs', storagePolicyName: 'gold', storagePolicyID: '1' },
    },
    {
      driver: 'csi.vsphere.vmware.com',
      volumeHandle: '[ds] d',
      fsType: 'xfs',
      volumeAttributes: { storagepolicyname: 'gold' },
    },
  ],
  [
    'portworx-volume: readOnly is left to the access modes',
    { portworxVolume: { volumeID: 'id', fsType: 'xfs', readOnly: true } },
    { driver: 'pxd.portworx.com', volumeHandle: 'id', fsType: 'xfs' },
  ],
];
for (const [name, spec, csi] of rows)
  test(`translates ${name}`, () => {
    const translated = translatePersistent(aPersistent(spec))?.spec ?? {};
    expect(translated.csi).toStrictEqual(csi);
    expect(Object.keys(translated).filter((field) => migratedFields.has(field))).toEqual([]);
  });

const authSecret = {
  'openstorage.io/auth-secret-name': 's',
  'openstorage.io/auth-secret-namespace': 'ns',
};
const portworxVolume = { volumeID: 'id' };
test('portworx-volume: the secret of the annotations serves all operations', () => {
  const volume = aPersistent({ portworxVolume }, { annotations: authSecret });
  const secret = { name: 's', namespace: 'ns' };
  expect(translatePersistent(volume)?.spec?.csi).toStrictEqual({
    driver: 'pxd.portworx.com',
    volumeHandle: 'id',
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    controllerExpandSecretRef: secret,
    nodeExpandSecretRef: secret,
  });
});

test('portworx-volume: one annotation alone names no secret', () => {
  for (const [key, value] of Object.entries(authSecret)) {
    const volume = aPersistent({ portworxVolume }, { annotations: { [key]: value } });
    expect(translatePersistent(volume)?.spec?.csi).not.toHaveProperty('nodeStageSecretRef');
  }
});

test('azure-file: the resource group comes from the annotation', () => {
  const annotations = { 'kubernetes.io/azure-file-resource-group': 'rg' };
  const azureFile = { secretName: 'x', shareName: 's', secretNamespace: 'ns' };
  expect(translatePersistent(aPersistent({ azureFile }, { annotations }))?.spec?.csi?.volumeHandle).toBe(
    'rg#x#s#pv#ns',
  );
});

const modes: readonly (readonly [readonly string[], string])[] = [
  [['ReadWriteMany'], 'ReadWriteOnce'],
  [['ReadOnlyMany'], 'ReadOnlyMany'],
  [['ReadOnlyMany', 'ReadWriteOnce'], 'ReadWriteOnce'],
  [['ReadOnlyMany', 'ReadWriteMany'], 'ReadWriteOnce'],
  [['ReadWriteOncePod'], 'ReadWriteOnce'],
  [['ReadWriteOncePod', 'ReadOnlyMany'], 'ReadOnlyMany'],
];
for (const [given, mode] of modes)
  test(`gce-pd: access modes ${given.join(', ')} become ${mode}`, () => {
    const spec = { gcePersistentDisk: { pdName: 'd' }, accessModes: [...given] };
    expect(translatePersistent(aPersistent(spec))?.spec?.accessModes).toEqual([mode]);
  });

test('gce-pd: a volume without access modes stays without', () => {
  const spec = { gcePersistentDisk: { pdName: 'd' } };
  expect(translatePersistent({ spec })?.spec).not.toHaveProperty('accessModes');
});

const zone = 'topology.kubernetes.io/zone';
const places: readonly (readonly [label: string, place: string])[] = [
  ['us-east1-b', 'zones/us-east1-b'],
  ['us-east1-b__us-east1-c', 'regions/us-east1'],
];
for (const [label, place] of places)
  test(`gce-pd: the label ${label} leads to ${place}`, () => {
    const volume = aPersistent({ gcePersistentDisk: { pdName: 'd' } }, { labels: { [zone]: label } });
    expect(translatePersistent(volume)?.spec?.csi?.volumeHandle).toBe(
      `projects/UNSPECIFIED/${place}/disks/d`,
    );
  });

const regional: readonly (readonly [label: string, why: string])[] = [
  ['us-east1-b__us-west1-c', 'multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]'],
  ['us-east1-b__', 'zone in unexpected format, expected: {locale}-{region}-{zone}, got: '],
];
for (const [label, why] of regional)
  test(`gce-pd: refuses the label ${label}`, () => {
    const volume = aPersistent({ gcePersistentDisk: { pdName: 'd' } }, { labels: { [zone]: label } });
    const message = `failed to translate in-tree pv to CSI: failed to get region from zones: ${why}`;
    expect(() => translatePersistent(volume)).toThrow(
      expect.objectContaining({ kind: 'invalid', reason: 'FailedMount', message }),
    );
  });

const failures: readonly (readonly [PersistentVolumeSpec, string])[] = [
  [
    { azureDisk: { diskName: 'd', diskURI: disk, kind: 'Shared' } },
    'kind(Shared) is not supported in csi migration',
  ],
  [
    { azureFile: { secretName: 'x', shareName: 's' } },
    'could not find a secret namespace in PersistentVolumeSource or ClaimRef',
  ],
  [
    { azureFile: { secretName: 'x', shareName: 's', secretNamespace: '' }, claimRef: { namespace: 'c' } },
    'could not find a secret namespace in PersistentVolumeSource or ClaimRef',
  ],
  [
    { awsElasticBlockStore: { volumeID: 'aws://a/disk' } },
    'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/disk)',
  ],
  [
    { awsElasticBlockStore: { volumeID: 'aws://[::1]/vol-1' } },
    'failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (aws://[::1]/vol-1): parse "aws://[::1]/vol-1": invalid IP-literal',
  ],
  [
    { awsElasticBlockStore: { volumeID: 'aws://a:b/vol-1' } },
    'failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (aws://a:b/vol-1): parse "aws://a:b/vol-1": invalid port ":b" after host',
  ],
];
for (const [spec, why] of failures)
  test(`refuses: ${why}`, () => {
    const message = `failed to translate in-tree pv to CSI: ${why}`;
    expect(() => translatePersistent(aPersistent(spec))).toThrow(
      expect.objectContaining({ kind: 'invalid', reason: 'FailedMount', message }),
    );
  });
