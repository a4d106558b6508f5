// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.

export interface Condition {
  type: string;
  status: string;
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

export interface DeleteOptions {
  kind?: string;
  apiVersion?: string;
  gracePeriodSeconds?: number;
  preconditions?: Preconditions;
  orphanDependents?: boolean;
  propagationPolicy?: string;
  dryRun?: Array<string>;
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

export interface FieldSelectorRequirement {
  key: string;
  operator: string;
  values?: Array<string>;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Array<LabelSelectorRequirement>;
}

export interface LabelSelectorRequirement {
  key: string;
  operator: string;
  values?: Array<string>;
}

export interface ListMeta {
  selfLink?: string;
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
  shardInfo?: ShardInfo;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  selfLink?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: Array<OwnerReference>;
  finalizers?: Array<string>;
  managedFields?: Array<ManagedFieldsEntry>;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface Preconditions {
  uid?: string;
  resourceVersion?: string;
}

export interface ShardInfo {
  selector: string;
}

export interface Status {
  kind?: 'Status';
  apiVersion?: 'v1';
  metadata?: ListMeta;
  status?: string;
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: Array<StatusCause>;
  retryAfterSeconds?: number;
}
