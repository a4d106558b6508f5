// The Kubernetes API objects in their JSON form: timestamps, quantities and enumerations are strings. Types only.
// The only file that imports the types of `generated/`; all others import from here.
// Upstream: staging/src/k8s.io/api and apimachinery/pkg/apis/meta/v1.
export type { TokenRequest, TokenReview } from './generated/authentication-v1.ts';
export type { SubjectAccessReview } from './generated/authorization-v1.ts';
export type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  PodCertificateRequest,
} from './generated/certificates-v1.ts';
export type { Lease } from './generated/coordination-v1.ts';
export type * from './generated/core-v1.ts';
export type * from './generated/meta-v1.ts';
export type { RuntimeClass } from './generated/node-v1.ts';
export type {
  CSIDriver,
  CSINode,
  StorageHealthCondition,
  VolumeAttachment,
} from './generated/storage-v1.ts';

/** Quantities in text form, by resource name. */
export type ResourceList = Record<string, string>;
