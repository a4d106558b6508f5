// Additions of Kubernetes 1.31 to 1.34 to the core API that kubernetes-types 1.30 lacks. Types only.
// Invariant: every field here exists in k8s.io/api/core/v1 of 1.34 under the same JSON name.
// Upstream: staging/src/k8s.io/api/core/v1; certificates/v1beta1 for trust bundles.
import type { ObjectMeta } from 'kubernetes-types/meta/v1.d.ts';

/** A rule that overrides a container's restart policy on exit. The first match decides. */
export interface ContainerRestartRule {
  /** Always `Restart`. */
  action: string;
  exitCodes?: ContainerRestartRuleOnExitCodes;
}

interface ContainerRestartRuleOnExitCodes {
  /** `In` or `NotIn`. */
  operator: string;
  values?: Array<number>;
}

/** The image or artifact that is mounted as a read-only volume. */
export interface ImageVolumeSource {
  reference?: string;
  pullPolicy?: string;
}

/** certificates.k8s.io, v1beta1 and v1alpha1. */
export interface ClusterTrustBundle {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  spec?: { signerName?: string; trustBundle?: string };
}

/** A private key and certificate chain that the kubelet requests and renews for the pod. */
export interface PodCertificateProjection {
  signerName: string;
  keyType: string;
  maxExpirationSeconds?: number;
  credentialBundlePath?: string;
  keyPath?: string;
  certificateChainPath?: string;
}

/** A key of an env file in an emptyDir volume of the pod. */
interface FileKeySelector {
  volumeName: string;
  path: string;
  key: string;
  optional?: boolean;
}

/** The actual user of a container's first process. */
export interface ContainerUser {
  linux?: LinuxContainerUser;
}

interface LinuxContainerUser {
  uid: number;
  gid: number;
  supplementalGroups?: Array<number>;
}

/** The health of the devices allocated to a container for one resource name. */
interface ResourceStatus {
  name: string;
  resources?: Array<ResourceHealth>;
}

interface ResourceHealth {
  resourceID: string;
  /** `Healthy`, `Unhealthy` or `Unknown`. */
  health?: string;
}

/** The resource claim behind extended resources that are served by DRA. */
interface PodExtendedResourceClaimStatus {
  requestMappings: Array<ContainerExtendedResourceRequest>;
  resourceClaimName: string;
}

interface ContainerExtendedResourceRequest {
  containerName: string;
  resourceName: string;
  requestName: string;
}

export interface NodeFeatures {
  supplementalGroupsPolicy?: boolean;
}

interface NodeSwapStatus {
  capacity?: number;
}

declare module 'kubernetes-types/core/v1.d.ts' {
  interface Container {
    restartPolicyRules?: Array<ContainerRestartRule>;
  }
  interface EphemeralContainer {
    restartPolicyRules?: Array<ContainerRestartRule>;
  }
  interface Lifecycle {
    stopSignal?: string;
  }
  interface EnvVarSource {
    fileKeyRef?: FileKeySelector;
  }
  interface Volume {
    image?: ImageVolumeSource;
  }
  interface VolumeProjection {
    podCertificate?: PodCertificateProjection;
  }
  interface ResourceClaim {
    request?: string;
  }
  interface PodResourceClaim {
    resourceClaimName?: string;
    resourceClaimTemplateName?: string;
  }
  interface PodSecurityContext {
    /** `Merge` or `Strict`. */
    supplementalGroupsPolicy?: string;
    /** `MountOption` or `Recursive`. */
    seLinuxChangePolicy?: string;
  }
  interface PodSpec {
    /** Requests and limits of the pod as a whole. */
    resources?: ResourceRequirements;
    hostnameOverride?: string;
  }
  interface PodCondition {
    observedGeneration?: number;
  }
  interface ContainerStatus {
    user?: ContainerUser;
    allocatedResourcesStatus?: Array<ResourceStatus>;
    stopSignal?: string;
  }
  interface PodStatus {
    observedGeneration?: number;
    extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  }
  interface NodeRuntimeHandlerFeatures {
    userNamespaces?: boolean;
  }
  interface NodeSystemInfo {
    swap?: NodeSwapStatus;
  }
  interface NodeStatus {
    features?: NodeFeatures;
  }
}
