// NodeRestriction: what a node may write into the objects it has access to. Upstream:
// plugin/pkg/admission/noderestriction.
import { isDeepStrictEqual } from 'node:util';
import type {
  CertificateSigningRequest,
  Node,
  Pod,
  PodCertificateRequest,
} from '../../../src/api/k8s/types.ts';
import { podReferences } from '../../../src/api/pod/pod-references.ts';
import { forbidden, notFound } from '../api-error.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { resourceOf } from '../objects/resources.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { readRequest } from '../pki.ts';
import type { Call } from '../request.ts';
import { nodeNameOf } from './node-authorizer.ts';
import { claimStatusFault } from './storage-rules.ts';
import { csiNodeStatusFault, noGates, type ServerGates } from './volume-health-rules.ts';

interface Write {
  readonly call: Pick<Call, 'user' | 'type' | 'subresource' | 'name' | 'namespace'>;
  readonly operation: 'create' | 'update' | 'delete';
  readonly before: StoredObject | undefined;
  readonly after: StoredObject | undefined;
  /** As the client sent it. */
  readonly given?: StoredObject;
}

/** Throws Forbidden if a node writes a field that it may not. */
export function restrictNode(write: Write, store: ObjectStore, gates: ServerGates = noGates): void {
  const node = nodeNameOf(write.call.user);
  if (node === undefined) return;
  const why = restrictions[write.call.type.plural]?.(write, node, store, gates);
  if (why !== undefined) throw forbidden(write.call.type, nameOf(write), why);
}

function nameOf({ call, after }: Write): string {
  return call.name === '' ? (after?.metadata.name ?? '') : call.name;
}

type Restriction = (write: Write, node: string, store: ObjectStore, gates: ServerGates) => string | undefined;

const restrictPod: Restriction = (write, node, store) => {
  const { call, operation } = write;
  const before = write.before as Pod | undefined;
  const after = write.after as Pod | undefined;
  if (call.subresource === 'eviction') return undefined;
  if (call.subresource === 'status') {
    if (before?.spec?.nodeName !== node)
      return `node "${node}" can only update pod status for pods with spec.nodeName set to itself`;
    if (!isDeepStrictEqual(before.metadata?.labels ?? {}, after?.metadata?.labels ?? {}))
      return `node "${node}" cannot update labels through pod status`;
    return undefined;
  }
  if (call.subresource !== '')
    return `unexpected pod subresource "${call.subresource}", only 'status' and 'eviction' are allowed`;
  if (operation === 'delete') {
    if (before?.spec?.nodeName === node) return undefined;
    return `node "${node}" can only delete pods with spec.nodeName set to itself`;
  }
  if (operation === 'update')
    return `unexpected operation "UPDATE", node "${node}" can only create and delete mirror pods`;
  return restrictMirrorPod(after ?? {}, node, store);
};

function restrictMirrorPod(pod: Pod, node: string, store: ObjectStore): string | undefined {
  const mirror = 'kubernetes.io/config.mirror';
  if (pod.metadata?.annotations?.[mirror] === undefined)
    return `pod does not have "${mirror}" annotation, node "${node}" can only create mirror pods`;
  if (pod.spec?.nodeName !== node)
    return `node "${node}" can only create pods with spec.nodeName set to itself`;
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1)
    return `node "${node}" can only create pods with a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `node "${node}" can only create pods with an owner reference set to itself`;
  if (owner.controller !== true)
    return `node "${node}" can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true)
    return `node "${node}" must not set blockOwnerDeletion on an owner reference`;
  const uid = store.get(resourceOf('nodes'), '', node)?.metadata.uid;
  if (uid === undefined) throw notFound(resourceOf('nodes'), node);
  if (uid !== owner.uid) return `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
  const [referenced] = Object.entries(podReferences(pod)).find(([, names]) => names.length > 0) ?? [];
  return referenced === undefined
    ? undefined
    : `node "${node}" can not create pods that reference ${referenced}`;
}

/** The labels of kubernetes.io and k8s.io that a kubelet may set on its own node. Upstream: pkg/kubelet/apis. */
const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
]);

function isKubeletLabel(key: string): boolean {
  return kubeletLabels.has(key) || /^(?:[^/]+\.)?(?:kubelet|node)\.kubernetes\.io\//.test(key);
}

function forbiddenLabels(before: Node | undefined, after: Node | undefined): readonly string[] {
  const was = before?.metadata?.labels ?? {};
  const is = after?.metadata?.labels ?? {};
  const changed = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(
    (key) => was[key] !== is[key],
  );
  return changed
    .filter((key) => {
      const prefix = key.includes('/') ? (key.split('/', 1)[0] ?? '') : '';
      if (/(?:^|\.)node-restriction\.kubernetes\.io$/.test(prefix)) return true;
      return /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(prefix) && !isKubeletLabel(key);
    })
    .sort();
}

const restrictNodeObject: Restriction = (write, node) => {
  const before = write.before as Node | undefined;
  const after = write.after as Node | undefined;
  const requested = nameOf(write);
  if (requested !== node) return `node "${node}" is not allowed to modify node "${requested}"`;
  if (write.operation === 'delete') return undefined;
  const labels = forbiddenLabels(before, after);
  if (write.operation === 'create') {
    if (labels.length === 0) return undefined;
    return `node "${node}" is not allowed to set the following labels: ${labels.join(', ')}`;
  }
  if (!isDeepStrictEqual(before?.spec?.taints ?? [], after?.spec?.taints ?? []))
    return `node "${node}" is not allowed to modify taints`;
  if (!isDeepStrictEqual(before?.metadata?.ownerReferences ?? [], after?.metadata?.ownerReferences ?? []))
    return `node "${node}" is not allowed to modify ownerReferences`;
  return labels.length === 0 ? undefined : `is not allowed to modify labels: ${labels.join(', ')}`;
};

const restrictLease: Restriction = (write, node) => {
  if (write.call.namespace !== 'kube-node-lease')
    return 'can only access leases in the "kube-node-lease" system namespace';
  return nameOf(write) === node
    ? undefined
    : 'can only access node lease with the same name as the requesting node';
};

const restrictCsiNode: Restriction = (write, node, _, gates) => {
  if (nameOf(write) !== node) return 'can only access CSINode with the same name as the requesting node';
  if (write.call.subresource !== 'status') return undefined;
  return csiNodeStatusFault(node, write.before, write.given, gates);
};

const kubeletSigners = ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving'];

const restrictRequest: Restriction = ({ after, operation }, node) => {
  if (operation !== 'create' || after === undefined) return undefined;
  const { request, signerName } = after.spec as CertificateSigningRequest['spec'];
  if (!kubeletSigners.includes(signerName)) return undefined;
  const { commonName } = readRequest(Buffer.from(request, 'base64').toString('utf8'));
  const own = `system:node:${node}`;
  return commonName === own ? undefined : `can only create a node CSR with CN=${own}`;
};

const restrictPodRequest: Restriction = ({ after, call, operation }, node, store) => {
  if (operation !== 'create' || after === undefined) return `unexpected operation ${operation}`;
  const { spec } = after as unknown as PodCertificateRequest;
  const ref = `${call.namespace}/${spec.podName}`;
  if (spec.nodeName !== node)
    return `PodCertificateRequest.Spec.NodeName="${spec.nodeName}", which is not the requesting node "${node}"`;
  if (store.get(resourceOf('nodes'), '', node)?.metadata.uid !== spec.nodeUID)
    return `PodCertificateRequest for pod "${ref}" names node UID "${spec.nodeUID}", inconsistent with the running node`;
  const pod = store.get(resourceOf('pods'), call.namespace, spec.podName) as Pod | undefined;
  if (pod?.metadata?.uid !== spec.podUID)
    return `PodCertificateRequest for pod "${ref}" contains pod UID ("${spec.podUID}") which differs from running pod`;
  if (pod.spec?.nodeName !== node)
    return `pod "${ref}" is not running on node "${node}" named in the PodCertificateRequest`;
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return `pod "${ref}" is a mirror pod`;
  if (pod.spec.serviceAccountName !== spec.serviceAccountName)
    return `PodCertificateRequest for pod "${ref}" contains serviceAccountName ("${spec.serviceAccountName}") that differs from running pod ("${pod.spec.serviceAccountName}")`;
  const account = store.get(resourceOf('serviceaccounts'), call.namespace, spec.serviceAccountName);
  if (account?.metadata.uid !== spec.serviceAccountUID)
    return `PodCertificateRequest for pod "${ref}" names service account UID "${spec.serviceAccountUID}", which differs from the running service account`;
  const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.some(({ podCertificate }) => podCertificate?.signerName === spec.signerName)
    ? undefined
    : `pod "${ref}" does not mount a podCertificate projected volume for signer "${spec.signerName}"`;
};

const restrictions: Readonly<Record<string, Restriction>> = {
  certificatesigningrequests: restrictRequest,
  podcertificaterequests: restrictPodRequest,
  pods: restrictPod,
  nodes: restrictNodeObject,
  leases: restrictLease,
  csinodes: restrictCsiNode,
  persistentvolumeclaims: ({ after, before, call }, node) =>
    call.subresource === 'status' ? claimStatusFault(node, before, after) : 'may only update PVC status',
};
