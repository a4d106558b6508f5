// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { PersistentVolumeSpec } from './core-v1.ts';
import type { ObjectMeta } from './meta-v1.ts';

export interface CSIDriver {
  apiVersion?: 'storage.k8s.io/v1';
  kind?: 'CSIDriver';
  metadata?: ObjectMeta;
  spec: CSIDriverSpec;
}

export interface CSIDriverSpec {
  attachRequired?: boolean;
  podInfoOnMount?: boolean;
  volumeLifecycleModes?: Array<string>;
  storageCapacity?: boolean;
  fsGroupPolicy?: string;
  tokenRequests?: Array<TokenRequest>;
  requiresRepublish?: boolean;
  seLinuxMount?: boolean;
  nodeAllocatableUpdatePeriodSeconds?: number;
  serviceAccountTokenInSecrets?: boolean;
  preventPodSchedulingIfMissing?: boolean;
}

export interface CSINode {
  apiVersion?: 'storage.k8s.io/v1';
  kind?: 'CSINode';
  metadata?: ObjectMeta;
  spec: CSINodeSpec;
  status?: CSINodeStatus;
}

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys?: Array<string>;
  allocatable?: VolumeNodeResources;
}

export interface CSINodeSpec {
  drivers: Array<CSINodeDriver>;
}

export interface CSINodeStatus {
  storageHealth?: Array<StorageHealth>;
}

export interface StorageHealth {
  name: string;
  healthConditions?: Array<StorageHealthCondition>;
}

export interface StorageHealthCondition {
  status: string;
  reason: string;
  message?: string;
  accessMode?: string;
  volumeMode?: string;
  lastTransitionTime?: string;
}

export interface TokenRequest {
  audience: string;
  expirationSeconds?: number;
}

export interface VolumeAttachment {
  apiVersion?: 'storage.k8s.io/v1';
  kind?: 'VolumeAttachment';
  metadata?: ObjectMeta;
  spec: VolumeAttachmentSpec;
  status?: VolumeAttachmentStatus;
}

export interface VolumeAttachmentSource {
  persistentVolumeName?: string;
  inlineVolumeSpec?: PersistentVolumeSpec;
}

export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Record<string, string>;
  attachError?: VolumeError;
  detachError?: VolumeError;
}

export interface VolumeError {
  time?: string;
  message?: string;
  errorCode?: number;
}

export interface VolumeNodeResources {
  count?: number;
}
