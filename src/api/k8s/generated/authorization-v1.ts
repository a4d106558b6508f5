// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { FieldSelectorRequirement, LabelSelectorRequirement, ObjectMeta } from './meta-v1.ts';

export interface FieldSelectorAttributes {
  rawSelector?: string;
  requirements?: Array<FieldSelectorRequirement>;
}

export interface LabelSelectorAttributes {
  rawSelector?: string;
  requirements?: Array<LabelSelectorRequirement>;
}

export interface NonResourceAttributes {
  path?: string;
  verb?: string;
}

export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: FieldSelectorAttributes;
  labelSelector?: LabelSelectorAttributes;
}

export interface SubjectAccessReview {
  apiVersion?: 'authorization.k8s.io/v1';
  kind?: 'SubjectAccessReview';
  metadata?: ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
}

export interface SubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
  user?: string;
  groups?: Array<string>;
  extra?: Record<string, Array<string>>;
  uid?: string;
}

export interface SubjectAccessReviewStatus {
  allowed: boolean;
  denied?: boolean;
  reason?: string;
  evaluationError?: string;
}
