// The objects of the cluster for the test itself, with an administrator's rights: without HTTP, with a server's checks.
import type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  ConfigMap,
  Event as CoreEvent,
  CSIDriver,
  CSINode,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCertificateRequest,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  VolumeAttachment,
} from '../../../src/api/k8s/types.ts';
import { conflict } from '../api-error.ts';
import type { User } from '../request.ts';
import { boundPod } from '../rules/pod-rules.ts';
import type { ObjectStore } from './object-store.ts';
import { resourceOf } from './resources.ts';
import type { StoredObject } from './stored-object.ts';
import type { DeleteBody, Writes } from './writes.ts';

const admin: User = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

interface Kinds {
  readonly certificatesigningrequests: CertificateSigningRequest;
  readonly clustertrustbundles: ClusterTrustBundle;
  readonly configmaps: ConfigMap;
  readonly csidrivers: CSIDriver;
  readonly csinodes: CSINode;
  readonly events: CoreEvent;
  readonly leases: Lease;
  readonly namespaces: Namespace;
  readonly nodes: Node;
  readonly persistentvolumeclaims: PersistentVolumeClaim;
  readonly persistentvolumes: PersistentVolume;
  readonly podcertificaterequests: PodCertificateRequest;
  readonly pods: Pod;
  readonly runtimeclasses: RuntimeClass;
  readonly secrets: Secret;
  readonly serviceaccounts: ServiceAccount;
  readonly services: Service;
  readonly volumeattachments: VolumeAttachment;
}

/** Addressed by plural name: `pods`, `configmaps`. The namespace of cluster-scoped objects is ''. */
export class ClusterObjects {
  readonly #writes: Writes;
  readonly #store: ObjectStore;

  constructor(writes: Writes, store: ObjectStore) {
    this.#writes = writes;
    this.#store = store;
  }

  create<P extends keyof Kinds>(plural: P, object: Kinds[P]): Kinds[P] {
    const type = resourceOf(plural);
    const metadata = object.metadata ?? {};
    const namespace = type.namespaced ? (metadata.namespace ?? 'default') : '';
    return this.#writes.create(
      { ...this.#target(plural, namespace, ''), name: '' },
      object,
    ) as unknown as Kinds[P];
  }

  get<P extends keyof Kinds>(plural: P, namespace: string, name: string): Kinds[P] | undefined {
    return this.#store.get(resourceOf(plural), namespace, name) as Kinds[P] | undefined;
  }

  list<P extends keyof Kinds>(plural: P, namespace = ''): readonly Kinds[P][] {
    return this.#store.list(resourceOf(plural), namespace) as unknown as readonly Kinds[P][];
  }

  update<P extends keyof Kinds>(plural: P, object: Kinds[P]): Kinds[P] {
    const { namespace = '', name = '' } = object.metadata ?? {};
    return this.#writes.update(this.#target(plural, namespace, name), object) as unknown as Kinds[P];
  }

  /** A merge patch of the object or, with `subresource`, of its status. */
  patch(plural: keyof Kinds, namespace: string, name: string, patch: object, subresource = ''): StoredObject {
    const target = { ...this.#target(plural, namespace, name), subresource };
    return this.#writes.patch(target, 'application/merge-patch+json', patch);
  }

  delete(plural: keyof Kinds, namespace: string, name: string, options: DeleteBody = {}): StoredObject {
    return this.#writes.delete(this.#target(plural, namespace, name), options).object;
  }

  /** Binds a pod, as the scheduler does. */
  bind(namespace: string, name: string, nodeName: string): void {
    const type = resourceOf('pods');
    const pod = this.#writes.existing({ type, namespace, name });
    const now = (pod.spec as { nodeName?: string } | undefined)?.nodeName ?? '';
    if (now !== '') throw conflict(type, name, `pod ${name} is already assigned to node "${now}"`);
    this.#store.put(type, boundPod(pod, nodeName, this.#writes.now()));
  }

  #target(plural: string, namespace: string, name: string) {
    return { user: admin, type: resourceOf(plural), namespace, name, subresource: '' };
  }
}
