// The Kubernetes API objects in their JSON form: timestamps, quantities and enumerations are strings. Types only.
// The only file that imports kubernetes-types; all others import from here.
// Upstream: staging/src/k8s.io/api and apimachinery/pkg/apis/meta/v1.
export type { TokenRequest, TokenReview } from 'kubernetes-types/authentication/v1.d.ts';
export type { SubjectAccessReview } from 'kubernetes-types/authorization/v1.d.ts';
export type { CertificateSigningRequest } from 'kubernetes-types/certificates/v1.d.ts';
export type { Lease } from 'kubernetes-types/coordination/v1.d.ts';
export type * from 'kubernetes-types/core/v1.d.ts';
export type * from 'kubernetes-types/meta/v1.d.ts';
export type { RuntimeClass } from 'kubernetes-types/node/v1.d.ts';
export type { CSIDriver, CSINode, VolumeAttachment } from 'kubernetes-types/storage/v1.d.ts';
export type {
  ClusterTrustBundle,
  ContainerRestartRule,
  ContainerUser,
  ImageVolumeSource,
  NodeFeatures,
  PodCertificateProjection,
} from './additions.ts';

/** Quantities in text form, by resource name. */
export type ResourceList = Record<string, string>;
