// Compares with the results of upstream v1.37.0-rc.1 in golden/translations.jsonl, of generated volumes and with empty fields
// left out. Volumes of a pod's spec.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { PersistentVolume, Volume } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { isMigratable, translateInline, translatePersistent } from './translate.ts';

interface GoldenCase {
  readonly pv?: PersistentVolume;
  readonly volume?: Volume;
  readonly namespace?: string;
  readonly result?: PersistentVolume;
  readonly error?: string;
}

const golden = readFileSync(new URL('golden/translations.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as GoldenCase);

/** The translation, or the text of its error. */
function outcome(translate: () => PersistentVolume | undefined): PersistentVolume | string | undefined {
  try {
    return translate();
  } catch (err) {
    if (!(err instanceof KubeletError) || err.kind !== 'invalid' || err.reason !== 'FailedMount') throw err;
    return err.message;
  }
}

test('translates volumes as upstream does, and never changes its input', () => {
  expect(golden.length).toBeGreaterThan(300);
  for (const { pv, volume, namespace = '', result, error } of golden) {
    const before = structuredClone(pv ?? volume);
    const translated = outcome(() => {
      if (pv !== undefined) return translatePersistent(pv);
      return volume && translateInline(volume, namespace);
    });
    expect(translated, JSON.stringify(before)).toStrictEqual(error ?? result);
    expect(pv ?? volume).toStrictEqual(before);
  }
});

const disk = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d';
const portworxVolume = { volumeID: 'id' };
const inlines: readonly (readonly [Omit<Volume, 'name'>, name: string, mode: string])[] = [
  [{ awsElasticBlockStore: { volumeID: 'vol-1' } }, 'ebs.csi.aws.com-vol-1', 'ReadWriteOnce'],
  [{ gcePersistentDisk: { pdName: 'd' } }, 'pd.csi.storage.gke.io-d', 'ReadWriteOnce'],
  [{ gcePersistentDisk: { pdName: 'd', readOnly: true } }, 'pd.csi.storage.gke.io-d', 'ReadOnlyMany'],
  [{ cinder: { volumeID: 'id' } }, 'cinder.csi.openstack.org-id', 'ReadWriteOnce'],
  [{ azureDisk: { diskName: 'd', diskURI: disk } }, disk, 'ReadWriteOnce'],
  [{ azureFile: { secretName: 'x', shareName: 's' } }, '#x#s#data#ns', 'ReadWriteMany'],
  [{ vsphereVolume: { volumePath: '[ds] d' } }, 'csi.vsphere.vmware.com-[ds] d', 'ReadWriteOnce'],
  [{ portworxVolume }, 'pxd.portworx.com-id', 'ReadWriteOnce'],
  [{ portworxVolume: { volumeID: 'id', readOnly: true } }, 'pxd.portworx.com-id', 'ReadOnlyMany'],
];
for (const [source, name, mode] of inlines)
  test(`names a volume of a pod ${name}, ${mode}`, () => {
    const { metadata, spec } = translateInline({ name: 'data', ...source }, 'ns') ?? {};
    expect(metadata).toStrictEqual({ name });
    expect([spec?.accessModes, spec?.volumeMode]).toEqual([[mode], 'Filesystem']);
    expect(isMigratable(source)).toBe(true);
  });

test('azure-file: a pod without namespace has its secret in the namespace default', () => {
  const azureFile = { secretName: 'x', shareName: 's' };
  expect(translateInline({ name: 'v', azureFile }, '')?.metadata?.name).toBe('#x#s#v#default');
});

test('azure-disk in a pod: an empty caching mode is no attribute', () => {
  const azureDisk = { diskName: 'd', diskURI: disk, cachingMode: '' };
  expect(translateInline({ name: 'v', azureDisk }, 'ns')?.spec?.csi?.volumeAttributes).toEqual({
    kind: 'Managed',
  });
});

test('vsphere-volume in a pod: passes the storage policy on, where the Go kubelet crashes', () => {
  const vsphereVolume = { volumePath: 'p', storagePolicyName: 'gold' };
  expect(translateInline({ name: 'v', vsphereVolume }, 'ns')?.spec?.csi?.volumeAttributes).toEqual({
    storagepolicyname: 'gold',
  });
});

test('refuses an inline disk whose name would leave its directory', () => {
  for (const diskURI of ['', '.', '..'])
    expect(outcome(() => translateInline({ name: 'v', azureDisk: { diskName: 'd', diskURI } }, 'ns'))).toBe(
      'failed to translate in-tree pv to CSI: the disk of volume v has no usable name',
    );
});

test('leaves other volumes alone', () => {
  expect(translatePersistent({ spec: { nfs: { server: 's', path: '/' } } })).toBeUndefined();
  expect(translatePersistent({})).toBeUndefined();
  expect(translateInline({ name: 'v', emptyDir: {} }, 'ns')).toBeUndefined();
  expect(isMigratable({ emptyDir: {}, azureDisk: undefined, cinder: null })).toBe(false);
});
