// The objects of CSI storage on the API server double, as provisioner, attacher and resizer leave them: a persistent volume with
// its bound claim, a CSIDriver, a requested expansion.
import { createHash } from 'node:crypto';
import type {
  CSIDriver,
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeSpec,
  Volume,
} from '../../src/api/k8s/types.ts';
import type { Cluster } from './cluster.ts';
import { testDriver } from './csi-driver.ts';

/** A cluster, or the parts of one that these helpers need. */
export type StorageCluster = Pick<Cluster, 'double' | 'nodeName'>;

export interface CsiClaim {
  /** Of the claim and the persistent volume. */
  readonly name: string;
  /** Default: the driver of the tests. */
  readonly driver?: string;
  /** Default: the name. */
  readonly handle?: string;
  readonly namespace?: string;
  readonly size?: string;
  readonly accessModes?: readonly string[];
  readonly volumeMode?: 'Filesystem' | 'Block';
  /** More fields of the CSI source, such as fsType, volumeAttributes and secret references. */
  readonly csi?: Partial<CSIPersistentVolumeSource>;
  /** More fields of the persistent volume, such as mountOptions and nodeAffinity. */
  readonly volume?: Partial<PersistentVolumeSpec>;
}

/** Creates a claim and the persistent volume that it is bound to. */
export function csiClaim(
  { double: { objects } }: StorageCluster,
  claim: CsiClaim,
): { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume } {
  const { name, driver = testDriver, handle = name, namespace = 'default', size = '32Mi' } = claim;
  const accessModes = [...(claim.accessModes ?? ['ReadWriteOnce'])];
  const { volumeMode = 'Filesystem' } = claim;
  const { metadata } = objects.create('persistentvolumeclaims', {
    metadata: {
      name,
      namespace,
      finalizers: ['kubernetes.io/pvc-protection'],
      annotations: { 'pv.kubernetes.io/bind-completed': 'yes' },
    },
    spec: { accessModes, volumeMode, volumeName: name, resources: { requests: { storage: size } } },
  });
  const bound = { phase: 'Bound', accessModes, capacity: { storage: size } };
  objects.patch('persistentvolumeclaims', namespace, name, { status: bound }, 'status');
  objects.create('persistentvolumes', {
    metadata: { name, finalizers: ['kubernetes.io/pv-protection'] },
    spec: {
      accessModes,
      volumeMode,
      capacity: { storage: size },
      claimRef: { kind: 'PersistentVolumeClaim', namespace, name, uid: metadata?.uid ?? '' },
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver, volumeHandle: handle, ...claim.csi },
      ...claim.volume,
    },
  });
  objects.patch('persistentvolumes', '', name, { status: { phase: 'Bound' } }, 'status');
  const found = {
    claim: objects.get('persistentvolumeclaims', namespace, name),
    volume: objects.get('persistentvolumes', '', name),
  };
  if (found.claim === undefined || found.volume === undefined) throw new Error(`no claim ${name}`);
  return { claim: found.claim, volume: found.volume };
}

/** The volume of a pod that uses a claim. */
export function claimVolume(name: string, claimName = name): Volume {
  return { name, persistentVolumeClaim: { claimName } };
}

/** Creates the CSIDriver. By default it needs no attachment. */
export function csiDriverObject(
  { double: { objects } }: StorageCluster,
  spec: CSIDriver['spec'] = {},
  name = testDriver,
): CSIDriver {
  return objects.create('csidrivers', { metadata: { name }, spec: { attachRequired: false, ...spec } });
}

/** The name that attacher and kubelet agree on. */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
}

/** The name of the volume in the status of a node. */
export function uniqueVolumeName(handle: string, driver = testDriver): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/**
 * Does what the resizer does after the storage has grown: the persistent volume has the new size, and the claim waits for the
 * node. `recovery` is a resizer with RecoverVolumeExpansionFailure, as of Kubernetes 1.34 and later.
 */
export function requestExpansion(
  { double: { objects } }: StorageCluster,
  name: string,
  size: string,
  { recovery = true, namespace = 'default' } = {},
): void {
  const storage = { storage: size };
  objects.patch('persistentvolumeclaims', namespace, name, { spec: { resources: { requests: storage } } });
  objects.patch('persistentvolumes', '', name, { spec: { capacity: storage } });
  const condition = {
    type: 'FileSystemResizePending',
    status: 'True',
    lastTransitionTime: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    message: 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.',
  };
  const node = recovery
    ? { allocatedResources: storage, allocatedResourceStatuses: { storage: 'NodeResizePending' } }
    : {};
  objects.patch(
    'persistentvolumeclaims',
    namespace,
    name,
    { status: { conditions: [condition], ...node } },
    'status',
  );
}
