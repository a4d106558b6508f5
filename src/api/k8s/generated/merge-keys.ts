// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.

type MergeKeys = Readonly<Record<string, string>>;

export const mergeKeysOfBinding: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfCSIDriver: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfCSINode: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'spec.drivers': 'name',
  'status.storageHealth': 'name',
};

export const mergeKeysOfCertificateSigningRequest: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfClusterTrustBundle: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfConfigMap: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfEvent: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfLease: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfNamespace: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'status.conditions': 'type',
};

export const mergeKeysOfNode: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'spec.podCIDRs': '',
  'status.conditions': 'type',
  'status.addresses': 'type',
};

export const mergeKeysOfPersistentVolume: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfPersistentVolumeClaim: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'status.conditions': 'type',
  'status.healthStatus.healthConditions': 'status',
};

export const mergeKeysOfPod: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'spec.volumes': 'name',
  'spec.volumes.ephemeral.volumeClaimTemplate.metadata.ownerReferences': 'uid',
  'spec.volumes.ephemeral.volumeClaimTemplate.metadata.finalizers': '',
  'spec.initContainers': 'name',
  'spec.initContainers.ports': 'containerPort',
  'spec.initContainers.env': 'name',
  'spec.initContainers.volumeMounts': 'mountPath',
  'spec.initContainers.volumeDevices': 'devicePath',
  'spec.containers': 'name',
  'spec.containers.ports': 'containerPort',
  'spec.containers.env': 'name',
  'spec.containers.volumeMounts': 'mountPath',
  'spec.containers.volumeDevices': 'devicePath',
  'spec.ephemeralContainers': 'name',
  'spec.ephemeralContainers.ports': 'containerPort',
  'spec.ephemeralContainers.env': 'name',
  'spec.ephemeralContainers.volumeMounts': 'mountPath',
  'spec.ephemeralContainers.volumeDevices': 'devicePath',
  'spec.imagePullSecrets': 'name',
  'spec.hostAliases': 'ip',
  'spec.topologySpreadConstraints': 'topologyKey',
  'spec.schedulingGates': 'name',
  'spec.resourceClaims': 'name',
  'spec.evictionResponders': 'name',
  'status.conditions': 'type',
  'status.hostIPs': 'ip',
  'status.podIPs': 'ip',
  'status.resourceClaimStatuses': 'name',
  'status.nodeAllocatableResourceClaimStatuses': 'resourceClaimName',
  'status.nodeAllocatableResourceClaimStatuses.mapping': 'name',
  'status.nodeAllocatableResourceClaimStatuses.overhead': 'name',
};

export const mergeKeysOfPodCertificateRequest: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'status.conditions': 'type',
};

export const mergeKeysOfResourceClaim: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'status.reservedFor': 'uid',
};

export const mergeKeysOfResourceSlice: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfRuntimeClass: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfSecret: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfService: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'spec.ports': 'port',
  'status.conditions': 'type',
};

export const mergeKeysOfServiceAccount: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
  'secrets': 'name',
};

export const mergeKeysOfSubjectAccessReview: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfTokenRequest: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfTokenReview: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysOfVolumeAttachment: MergeKeys = {
  'metadata.ownerReferences': 'uid',
  'metadata.finalizers': '',
};

export const mergeKeysByKind: Readonly<Record<string, MergeKeys>> = {
  Binding: mergeKeysOfBinding,
  CSIDriver: mergeKeysOfCSIDriver,
  CSINode: mergeKeysOfCSINode,
  CertificateSigningRequest: mergeKeysOfCertificateSigningRequest,
  ClusterTrustBundle: mergeKeysOfClusterTrustBundle,
  ConfigMap: mergeKeysOfConfigMap,
  Event: mergeKeysOfEvent,
  Lease: mergeKeysOfLease,
  Namespace: mergeKeysOfNamespace,
  Node: mergeKeysOfNode,
  PersistentVolume: mergeKeysOfPersistentVolume,
  PersistentVolumeClaim: mergeKeysOfPersistentVolumeClaim,
  Pod: mergeKeysOfPod,
  PodCertificateRequest: mergeKeysOfPodCertificateRequest,
  ResourceClaim: mergeKeysOfResourceClaim,
  ResourceSlice: mergeKeysOfResourceSlice,
  RuntimeClass: mergeKeysOfRuntimeClass,
  Secret: mergeKeysOfSecret,
  Service: mergeKeysOfService,
  ServiceAccount: mergeKeysOfServiceAccount,
  SubjectAccessReview: mergeKeysOfSubjectAccessReview,
  TokenRequest: mergeKeysOfTokenRequest,
  TokenReview: mergeKeysOfTokenReview,
  VolumeAttachment: mergeKeysOfVolumeAttachment,
};
