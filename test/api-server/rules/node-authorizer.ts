// The Node authorizer. Enabled in every test: a kubelet that requests more than a node may fails its test.
// Upstream: plugin/pkg/auth/authorizer/node (with AuthorizeNodeWithSelectors) and the rules of system:node in
// plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
import type { PersistentVolume, Pod } from '../../../src/api/k8s/types.ts';
import { podReferences } from '../../../src/api/pod/pod-references.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { resourceOf } from '../objects/resources.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Call, User } from '../request.ts';
import { secretsOfVolume } from './storage-rules.ts';
import { csiNodeStatusDenial, noGates, type ServerGates } from './volume-health-rules.ts';

/** An empty reason means allowed. */
const allowed = '';
type Answer = string;

export function nodeNameOf(user: User): string | undefined {
  if (!user.groups.includes('system:nodes') || !user.name.startsWith('system:node:')) return undefined;
  return user.name.slice('system:node:'.length);
}

type Attributes = Pick<Call, 'user' | 'verb' | 'type' | 'subresource' | 'namespace' | 'name' | 'fields'>;

/** '' if the call is allowed, else the reason for denying it. */
export function authorizeNode(call: Attributes, store: ObjectStore, gates: ServerGates = noGates): Answer {
  const node = nodeNameOf(call.user);
  if (node === undefined) return 'not a node';
  const rule = nodeRules[call.type.plural];
  return rule === undefined ? 'nodes have nothing to do with it' : rule(call, node, store, gates);
}

type Rule = (call: Attributes, node: string, store: ObjectStore, gates: ServerGates) => Answer;

function verbs(names: string, why = ''): Rule {
  const list = names.split(' ');
  return ({ verb, subresource }) => {
    if (subresource === '' && list.includes(verb)) return allowed;
    return why || `nodes may only ${names}`;
  };
}

function unrelated(node: string): string {
  return `no relationship found between node '${node}' and this object`;
}

function podsOf(node: string, store: ObjectStore): readonly Pod[] {
  return store
    .list(resourceOf('pods'))
    .map((object) => object as unknown as Pod)
    .filter((pod) => pod.spec?.nodeName === node);
}

const readReferenced: Rule = (call, node, store) => {
  if (!['get', 'list', 'watch'].includes(call.verb)) return 'can only read resources of this type';
  if (call.subresource !== '') return 'cannot read subresource';
  if (call.namespace === '') return 'can only read namespaced object of this type';
  if (call.name === '') return 'No Object name found';
  if (isReferenced(call, node, store)) return allowed;
  return call.type.plural === 'secrets' && isSecretOfVolume(call, node, store) ? allowed : unrelated(node);
};

/** A PersistentVolume that is bound to a claim of a pod of the node names the secret. */
function isSecretOfVolume(call: Attributes, node: string, store: ObjectStore): boolean {
  const secret = `${call.namespace}/${call.name}`;
  return store.list(resourceOf('persistentvolumes')).some((object) => {
    const volume = object as unknown as PersistentVolume;
    return secretsOfVolume(volume).includes(secret) && isVolumeOf(volume, node, store, call);
  });
}

/** Through the claim that the volume is bound to, and a pod of the node that refers to it. */
function isVolumeOf(volume: PersistentVolume, node: string, store: ObjectStore, call: Attributes): boolean {
  const claim = volume.spec?.claimRef;
  if (claim === undefined) return false;
  const type = resourceOf('persistentvolumeclaims');
  const { name = '', namespace = '' } = claim;
  return isReferenced({ ...call, type, namespace, name }, node, store);
}

function isReferenced(call: Attributes, node: string, store: ObjectStore): boolean {
  return podsOf(node, store).some(
    (pod) =>
      pod.metadata?.namespace === call.namespace &&
      // A mirror pod grants its node no rights.
      pod.metadata.annotations?.['kubernetes.io/config.mirror'] === undefined &&
      podReferences(pod)[call.type.plural]?.includes(call.name) === true,
  );
}

const getReferenced: Rule = (call, node, store) => {
  if (call.subresource === 'status' && ['update', 'patch'].includes(call.verb)) {
    return isReferenced(call, node, store) ? allowed : unrelated(node);
  }
  if (call.verb !== 'get') return 'can only get individual resources of this type';
  if (call.subresource !== '') return 'cannot get subresource';
  return isReferenced(call, node, store) ? allowed : unrelated(node);
};

const getVolume: Rule = (call, node, store) => {
  if (call.verb !== 'get') return 'can only get individual resources of this type';
  if (call.subresource !== '') return 'cannot get subresource';
  const volume = store.get(call.type, '', call.name) as unknown as PersistentVolume | undefined;
  return volume !== undefined && isVolumeOf(volume, node, store, call) ? allowed : unrelated(node);
};

const getAttachment: Rule = (call, node, store) => {
  if (call.verb !== 'get') return 'can only get individual resources of this type';
  if (call.subresource !== '') return 'cannot get subresource';
  const found = store.get(call.type, '', call.name);
  return (found?.spec as { nodeName?: string } | undefined)?.nodeName === node ? allowed : unrelated(node);
};

function named(what: string, namespace?: string): Rule {
  return (call, node) => {
    if (!['get', 'create', 'update', 'patch', 'delete'].includes(call.verb)) {
      return `can only get, create, update, patch, or delete a ${what}`;
    }
    if (namespace !== undefined && call.namespace !== namespace) {
      return `can only access leases in the "${namespace}" system namespace`;
    }
    if (call.verb === 'create' || call.name === node) return allowed;
    return `can only access ${what} with the same name as the requesting node`;
  };
}

const ownCsiNode: Rule = (call, node, store, gates) => {
  const denial = call.subresource === 'status' ? csiNodeStatusDenial(call.verb, gates) : '';
  if (denial !== '') return denial;
  if (!['', 'status'].includes(call.subresource)) return 'cannot authorize CSINode subresources';
  return named('CSINode')(call, node, store, gates);
};

const ownNode: Rule = ({ verb, subresource, name }, node) => {
  if (subresource === 'status') return ['update', 'patch'].includes(verb) ? allowed : 'no rule';
  if (subresource !== '') return 'no rule';
  if (['create', 'update', 'patch'].includes(verb)) return allowed;
  if (!['get', 'list', 'watch'].includes(verb)) return 'no rule';
  if (name === node) return allowed;
  if (name === '') return `node '${node}' cannot read all nodes, only its own Node object`;
  return `node '${node}' cannot read '${name}', only its own Node object`;
};

function selectsNode(call: Attributes, node: string): boolean {
  return call.fields.some(
    (each) => each.field === 'spec.nodeName' && each.operator === '=' && each.value === node,
  );
}

const ownPods: Rule = (call, node, store) => {
  const { verb, subresource } = call;
  if (subresource === 'status') return ['update', 'patch'].includes(verb) ? allowed : 'no rule';
  if (subresource === 'eviction') return verb === 'create' ? allowed : 'no rule';
  if (subresource !== '') return 'no rule';
  if (verb === 'create' || verb === 'delete') return allowed;
  if (!['get', 'list', 'watch'].includes(verb)) return 'no rule';
  if (verb !== 'get' && selectsNode(call, node)) return allowed;
  if (call.name === '') return 'can only list/watch pods with spec.nodeName field selector';
  const pod = store.get(call.type, call.namespace, call.name) as (StoredObject & Pod) | undefined;
  return pod?.spec?.nodeName === node ? allowed : unrelated(node);
};

const ownSlices: Rule = (call, node) => {
  if (call.verb === 'create') return allowed;
  if (['list', 'watch', 'deletecollection'].includes(call.verb)) {
    return selectsNode(call, node)
      ? allowed
      : 'can only list/watch/deletecollection resourceslices with nodeName field selector';
  }
  return allowed;
};

const ownCertificateRequests: Rule = (call, node, store) => {
  if (call.subresource !== '') return 'nodes may not access the status subresource of PodCertificateRequests';
  if (call.verb === 'create') return allowed;
  if (call.verb === 'get') {
    const found = store.get(call.type, call.namespace, call.name);
    return (found?.spec as { nodeName?: string } | undefined)?.nodeName === node ? allowed : unrelated(node);
  }
  if (call.verb !== 'list' && call.verb !== 'watch')
    return `nodes may not ${call.verb} podcertificaterequests`;
  return selectsNode(call, node)
    ? allowed
    : 'can only list/watch podcertificaterequests with nodeName field selector';
};

const tokens: Rule = (call, node, store, gates) => {
  if (call.verb === 'get' && call.subresource === '') return readReferenced(call, node, store, gates);
  if (call.verb !== 'create' || call.name === '') {
    return 'can only create tokens for individual service accounts';
  }
  if (call.subresource !== 'token') return 'can only create token subresource of serviceaccount';
  return isReferenced(call, node, store) ? allowed : unrelated(node);
};

const nodeRules: Readonly<Record<string, Rule>> = {
  secrets: readReferenced,
  configmaps: readReferenced,
  persistentvolumeclaims: getReferenced,
  persistentvolumes: getVolume,
  resourceclaims: getReferenced,
  volumeattachments: getAttachment,
  serviceaccounts: tokens,
  podcertificaterequests: ownCertificateRequests,
  leases: named('node lease', 'kube-node-lease'),
  csinodes: ownCsiNode,
  resourceslices: ownSlices,
  nodes: ownNode,
  pods: ownPods,
  services: verbs('get list watch'),
  runtimeclasses: verbs('get list watch'),
  csidrivers: verbs('get list watch'),
  clustertrustbundles: verbs('get list watch'),
  events: verbs('create update patch'),
  certificatesigningrequests: verbs('create get list watch'),
  tokenreviews: verbs('create'),
  subjectaccessreviews: verbs('create'),
};
