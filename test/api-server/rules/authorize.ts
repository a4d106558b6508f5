// Authorization: masters may do everything, nodes what the Node authorizer grants, bootstrapping kubelets may request a
// certificate, any user may review itself. Upstream: the chain of authorizers that kubeadm sets up (Node, RBAC).
import type { SubjectAccessReview } from '../../../src/api/k8s/types.ts';
import { forbidden } from '../api-error.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { Call, User } from '../request.ts';
import { authorizeNode, nodeNameOf } from './node-authorizer.ts';
import type { ServerGates } from './volume-health-rules.ts';

type Attributes = Pick<Call, 'user' | 'verb' | 'type' | 'subresource' | 'namespace' | 'name' | 'fields'>;

/** '' if the call is allowed, else the reason for denying it. */
function denialReason(call: Attributes, store: ObjectStore, gates?: ServerGates): string {
  const { user, verb, type } = call;
  if (user.groups.includes('system:masters')) return '';
  if (
    type.plural.startsWith('selfsubject') &&
    verb === 'create' &&
    user.groups.includes('system:authenticated')
  ) {
    return '';
  }
  if (nodeNameOf(user) !== undefined) return authorizeNode(call, store, gates);
  const bootstraps = user.groups.includes('system:bootstrappers');
  if (bootstraps && type.plural === 'certificatesigningrequests' && call.subresource === '') {
    if (['create', 'get', 'list', 'watch'].includes(verb)) return '';
  }
  return 'no rule grants it';
}

export function authorize(call: Attributes, store: ObjectStore, gates?: ServerGates): void {
  const why = denialReason(call, store, gates);
  if (why === '') return;
  const { user, verb, type, namespace } = call;
  const resource = call.subresource === '' ? type.plural : `${type.plural}/${call.subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  throw forbidden(
    type,
    call.name,
    `User "${user.name}" cannot ${verb} resource "${resource}" in API group "${type.group}" ${where}: ${why}`,
  );
}

/** Decides a SubjectAccessReview: masters may use the whole API of a kubelet, others what they were granted of it. */
export function mayAccess(
  user: User,
  spec: SubjectAccessReview['spec'],
  grants: ReadonlySet<string>,
): boolean {
  if (user.groups.includes('system:masters')) return true;
  const { resource, subresource = '', verb } = spec?.resourceAttributes ?? {};
  return resource === 'nodes' && grants.has(`${user.name} ${verb} ${subresource}`);
}
