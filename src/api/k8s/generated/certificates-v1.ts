// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { Condition, ObjectMeta } from './meta-v1.ts';

export interface CertificateSigningRequest {
  apiVersion?: 'certificates.k8s.io/v1';
  kind?: 'CertificateSigningRequest';
  metadata?: ObjectMeta;
  spec: CertificateSigningRequestSpec;
  status?: CertificateSigningRequestStatus;
}

export interface CertificateSigningRequestCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

export interface CertificateSigningRequestSpec {
  request: string;
  signerName: string;
  expirationSeconds?: number;
  usages?: Array<string>;
  username?: string;
  uid?: string;
  groups?: Array<string>;
  extra?: Record<string, Array<string>>;
}

export interface CertificateSigningRequestStatus {
  conditions?: Array<CertificateSigningRequestCondition>;
  certificate?: string;
}

export interface ClusterTrustBundle {
  apiVersion?: 'certificates.k8s.io/v1';
  kind?: 'ClusterTrustBundle';
  metadata?: ObjectMeta;
  spec: ClusterTrustBundleSpec;
}

export interface ClusterTrustBundleSpec {
  signerName?: string;
  trustBundle: string;
}

export interface PodCertificateRequest {
  apiVersion?: 'certificates.k8s.io/v1';
  kind?: 'PodCertificateRequest';
  metadata?: ObjectMeta;
  spec: PodCertificateRequestSpec;
  status?: PodCertificateRequestStatus;
}

export interface PodCertificateRequestSpec {
  signerName: string;
  podName: string;
  podUID: string;
  serviceAccountName: string;
  serviceAccountUID: string;
  nodeName: string;
  nodeUID: string;
  maxExpirationSeconds?: number;
  stubPKCS10Request: string;
  unverifiedUserAnnotations?: Record<string, string>;
}

export interface PodCertificateRequestStatus {
  conditions?: Array<Condition>;
  certificateChain?: string;
  notBefore?: string;
  beginRefreshAt?: string;
  notAfter?: string;
}
