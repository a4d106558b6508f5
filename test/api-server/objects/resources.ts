// The resources of the double, one row each: those that kubelets, their tests and kubectl request, and no more.
// Upstream: pkg/registry/*/rest and pkg/apis/*/conversion.go (field selectors).
import type { StoredObject } from './stored-object.ts';

export interface ResourceType {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  /** Whether the status is a subresource: writes to the object do not change it, writes to /status change nothing else. */
  readonly hasStatus: boolean;
  readonly subresources: readonly string[];
  /** Whether objects are created but never stored, as TokenReview. */
  readonly virtual: boolean;
  /** Selectable fields besides metadata.name and metadata.namespace. */
  readonly fields: readonly string[];
}

type Row = Partial<ResourceType> & Pick<ResourceType, 'plural' | 'kind'>;

function row(given: Row): ResourceType {
  return {
    group: '',
    version: 'v1',
    singular: given.kind.toLowerCase(),
    namespaced: true,
    shortNames: [],
    hasStatus: false,
    subresources: [],
    virtual: false,
    fields: [],
    ...given,
  };
}

const core: readonly ResourceType[] = [
  row({ plural: 'namespaces', kind: 'Namespace', namespaced: false, shortNames: ['ns'], hasStatus: true }),
  row({
    plural: 'nodes',
    kind: 'Node',
    namespaced: false,
    shortNames: ['no'],
    hasStatus: true,
    subresources: ['proxy'],
    fields: ['spec.unschedulable'],
  }),
  row({
    plural: 'pods',
    kind: 'Pod',
    shortNames: ['po'],
    hasStatus: true,
    subresources: [
      'binding',
      'eviction',
      'ephemeralcontainers',
      'resize',
      'log',
      'exec',
      'attach',
      'portforward',
    ],
    fields: [
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  }),
  row({ plural: 'secrets', kind: 'Secret', fields: ['type'] }),
  row({ plural: 'configmaps', kind: 'ConfigMap', shortNames: ['cm'] }),
  row({
    plural: 'services',
    kind: 'Service',
    shortNames: ['svc'],
    hasStatus: true,
    fields: ['spec.clusterIP', 'spec.type'],
  }),
  row({ plural: 'serviceaccounts', kind: 'ServiceAccount', shortNames: ['sa'], subresources: ['token'] }),
  row({
    plural: 'events',
    kind: 'Event',
    shortNames: ['ev'],
    fields: [
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
  }),
  row({
    plural: 'persistentvolumeclaims',
    kind: 'PersistentVolumeClaim',
    shortNames: ['pvc'],
    hasStatus: true,
  }),
  row({
    plural: 'persistentvolumes',
    kind: 'PersistentVolume',
    namespaced: false,
    shortNames: ['pv'],
    hasStatus: true,
  }),
];

const groups: readonly ResourceType[] = [
  row({ group: 'coordination.k8s.io', plural: 'leases', kind: 'Lease' }),
  row({ group: 'node.k8s.io', plural: 'runtimeclasses', kind: 'RuntimeClass', namespaced: false }),
  row({
    group: 'storage.k8s.io',
    plural: 'csinodes',
    kind: 'CSINode',
    namespaced: false,
    hasStatus: true,
  }),
  row({ group: 'storage.k8s.io', plural: 'csidrivers', kind: 'CSIDriver', namespaced: false }),
  row({
    group: 'storage.k8s.io',
    plural: 'volumeattachments',
    kind: 'VolumeAttachment',
    namespaced: false,
    hasStatus: true,
  }),
  row({
    group: 'resource.k8s.io',
    plural: 'resourceslices',
    kind: 'ResourceSlice',
    namespaced: false,
    fields: ['spec.nodeName', 'spec.driver'],
  }),
  row({ group: 'resource.k8s.io', plural: 'resourceclaims', kind: 'ResourceClaim', hasStatus: true }),
  row({
    group: 'certificates.k8s.io',
    plural: 'certificatesigningrequests',
    kind: 'CertificateSigningRequest',
    namespaced: false,
    shortNames: ['csr'],
    hasStatus: true,
    subresources: ['approval'],
    fields: ['spec.signerName'],
  }),
  row({
    group: 'certificates.k8s.io',
    plural: 'podcertificaterequests',
    kind: 'PodCertificateRequest',
    shortNames: ['pcr'],
    hasStatus: true,
    fields: ['spec.signerName', 'spec.podName', 'spec.nodeName'],
  }),
  row({
    group: 'certificates.k8s.io',
    plural: 'clustertrustbundles',
    kind: 'ClusterTrustBundle',
    namespaced: false,
    fields: ['spec.signerName'],
  }),
  row({
    group: 'authentication.k8s.io',
    plural: 'tokenreviews',
    kind: 'TokenReview',
    namespaced: false,
    virtual: true,
  }),
  row({
    group: 'authentication.k8s.io',
    plural: 'selfsubjectreviews',
    kind: 'SelfSubjectReview',
    namespaced: false,
    virtual: true,
  }),
  row({
    group: 'authorization.k8s.io',
    plural: 'subjectaccessreviews',
    kind: 'SubjectAccessReview',
    namespaced: false,
    virtual: true,
  }),
  row({
    group: 'authorization.k8s.io',
    plural: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
    namespaced: false,
    virtual: true,
  }),
];

export const resourceTypes: readonly ResourceType[] = [...core, ...groups];

export function findResource(group: string, version: string, plural: string): ResourceType | undefined {
  return resourceTypes.find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  );
}

/** Plural names are unique among these resources. */
export function resourceOf(plural: string): ResourceType {
  const found = resourceTypes.find((each) => each.plural === plural);
  if (found === undefined) throw new Error(`the API server double has no resource ${plural}`);
  return found;
}

export function apiVersionOf({ group, version }: Pick<ResourceType, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The values of the selectable fields. */
export function fieldsOf(type: ResourceType, object: StoredObject): Record<string, string> {
  const fields: Record<string, string> = {
    'metadata.name': object.metadata.name ?? '',
    'metadata.namespace': object.metadata.namespace ?? '',
  };
  for (const field of type.fields) fields[field] = valueAt(object, field);
  if (type.plural === 'events') fields['source'] = valueAt(object, 'source.component');
  return fields;
}

function valueAt(object: object, path: string): string {
  let value: unknown = object;
  for (const name of path.split('.')) {
    value =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  if (value === undefined || value === null) return path === 'spec.unschedulable' ? 'false' : '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
