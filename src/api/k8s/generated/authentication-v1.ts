// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { ObjectMeta } from './meta-v1.ts';

export interface BoundObjectReference {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface TokenRequest {
  apiVersion?: 'authentication.k8s.io/v1';
  kind?: 'TokenRequest';
  metadata?: ObjectMeta;
  spec?: TokenRequestSpec;
  status?: TokenRequestStatus;
}

export interface TokenRequestSpec {
  audiences?: Array<string>;
  expirationSeconds?: number;
  boundObjectRef?: BoundObjectReference;
  attestations?: Record<string, Array<string>>;
}

export interface TokenRequestStatus {
  token?: string;
  expirationTimestamp?: string;
}

export interface TokenReview {
  apiVersion?: 'authentication.k8s.io/v1';
  kind?: 'TokenReview';
  metadata?: ObjectMeta;
  spec: TokenReviewSpec;
  status?: TokenReviewStatus;
}

export interface TokenReviewSpec {
  token: string;
  audiences?: Array<string>;
}

export interface TokenReviewStatus {
  authenticated?: boolean;
  user?: UserInfo;
  audiences?: Array<string>;
  error?: string;
}

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: Array<string>;
  extra?: Record<string, Array<string>>;
}
