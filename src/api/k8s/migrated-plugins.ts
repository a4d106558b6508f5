// The in-tree kinds of volumes that CSI drivers serve now, in a pod's spec and in a PersistentVolume.
// Invariant: one row per kind; all are always migrated, since upstream has removed the code of the in-tree plugins.
// Upstream: IsMigrationEnabledForPlugin in pkg/volume/csimigration, the names in staging/src/k8s.io/csi-translation-lib/plugins.
import type { PersistentVolumeSpec, Volume } from './types.ts';

export type MigratedField = keyof PersistentVolumeSpec &
  keyof Volume &
  (
    | 'awsElasticBlockStore'
    | 'azureDisk'
    | 'azureFile'
    | 'cinder'
    | 'gcePersistentDisk'
    | 'portworxVolume'
    | 'vsphereVolume'
  );

/** By the field of the volume's source: the name of the in-tree plugin. Sorted by this name. */
const pluginNames: Readonly<Record<MigratedField, string>> = {
  awsElasticBlockStore: 'kubernetes.io/aws-ebs',
  azureDisk: 'kubernetes.io/azure-disk',
  azureFile: 'kubernetes.io/azure-file',
  cinder: 'kubernetes.io/cinder',
  gcePersistentDisk: 'kubernetes.io/gce-pd',
  portworxVolume: 'kubernetes.io/portworx-volume',
  vsphereVolume: 'kubernetes.io/vsphere-volume',
};

/**
 * Sorted. Joined with commas, they are the value of the annotation storage.alpha.kubernetes.io/migrated-plugins of the CSINode,
 * by which the attach/detach controller and the scheduler learn that this node mounts such volumes with CSI drivers.
 */
export const migratedPlugins: readonly string[] = Object.values(pluginNames);

/** The fields of a volume's source that name a migrated kind. */
export const migratedFields: ReadonlySet<string> = new Set(Object.keys(pluginNames));

/** The fields of kinds that the API still has and no kubelet serves any more. */
export const removedFields: readonly string[] = [
  'glusterfs',
  'rbd',
  'cephfs',
  'flocker',
  'quobyte',
  'photonPersistentDisk',
  'scaleIO',
  'storageos',
];
