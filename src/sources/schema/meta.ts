// The JSON fields of object metadata and label selectors, with their types.
// Invariant: names and types are those of Kubernetes 1.34; any other field is unknown.
// Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1.
import type { TypeTable } from './type-table.ts';

export const metaTypes: TypeTable = {
  LabelSelector: { matchLabels: '{}string', matchExpressions: '[]LabelSelectorRequirement' },
  LabelSelectorRequirement: { key: 'string', operator: 'string', values: '[]string' },
  ManagedFieldsEntry: {
    manager: 'string',
    operation: 'string',
    apiVersion: 'string',
    time: 'time',
    fieldsType: 'string',
    fieldsV1: 'any',
    subresource: 'string',
  },
  ObjectMeta: {
    name: 'string',
    generateName: 'string',
    namespace: 'string',
    selfLink: 'string',
    uid: 'string',
    resourceVersion: 'string',
    generation: 'int64',
    creationTimestamp: 'time',
    deletionTimestamp: 'time',
    deletionGracePeriodSeconds: 'int64',
    labels: '{}string',
    annotations: '{}string',
    ownerReferences: '[]OwnerReference',
    finalizers: '[]string',
    managedFields: '[]ManagedFieldsEntry',
  },
  OwnerReference: {
    apiVersion: 'string',
    kind: 'string',
    name: 'string',
    uid: 'string',
    controller: 'bool',
    blockOwnerDeletion: 'bool',
  },
};
