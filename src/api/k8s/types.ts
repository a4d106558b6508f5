// The Kubernetes API objects as JSON has them: timestamps, quantities and enumerations are strings. Types only.
// The one place that knows where the types come from; everyone else imports the plain names from here.
// Upstream: staging/src/k8s.io/api and apimachinery/pkg/apis/meta/v1.
export type {
  BoundObjectReference,
  TokenRequest,
  TokenRequestSpec,
  TokenRequestStatus,
  TokenReview,
  TokenReviewSpec,
  TokenReviewStatus,
  UserInfo,
} from 'kubernetes-types/authentication/v1.d.ts';
export type {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from 'kubernetes-types/authorization/v1.d.ts';
export type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestSpec,
  CertificateSigningRequestStatus,
} from 'kubernetes-types/certificates/v1.d.ts';
export type { Lease, LeaseList, LeaseSpec } from 'kubernetes-types/coordination/v1.d.ts';
export type * from 'kubernetes-types/core/v1.d.ts';
export type * from 'kubernetes-types/meta/v1.d.ts';
export type { Overhead, RuntimeClass, RuntimeClassList, Scheduling } from 'kubernetes-types/node/v1.d.ts';
export type {
  CSIDriver,
  CSIDriverSpec,
  CSINode,
  CSINodeDriver,
  CSINodeSpec,
  VolumeAttachment,
  VolumeAttachmentSource,
  VolumeAttachmentSpec,
  VolumeAttachmentStatus,
  VolumeError,
  VolumeNodeResources,
} from 'kubernetes-types/storage/v1.d.ts';
export type {
  ClusterTrustBundle,
  ContainerExtendedResourceRequest,
  ContainerRestartRule,
  ContainerRestartRuleOnExitCodes,
  ContainerUser,
  FileKeySelector,
  ImageVolumeSource,
  LinuxContainerUser,
  NodeFeatures,
  NodeSwapStatus,
  PodCertificateProjection,
  PodExtendedResourceClaimStatus,
  ResourceHealth,
  ResourceStatus,
} from './additions.ts';

/** Amounts by resource name, each as a quantity's text. */
export type ResourceList = Record<string, string>;
