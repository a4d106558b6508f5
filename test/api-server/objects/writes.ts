// Create, update, patch and delete, with a server's checks and defaults.
// Upstream: apiserver/pkg/registry/generic/registry/store.go and apiserver/pkg/registry/rest.
// Invariants: a write without a change creates no revision; clients cannot change the metadata that the server owns.
import { isDeepStrictEqual } from 'node:util';
import type { CertificateSigningRequest, Node, ObjectMeta, Pod } from '../../../src/api/k8s/types.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { isObject } from '../../../src/base/guards.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  notFound,
  staleObject,
} from '../api-error.ts';
import { readRequest } from '../pki.ts';
import type { Call } from '../request.ts';
import { restrictNode } from '../rules/node-restriction.ts';
import { checkPodCertificateStatus, preparePodCertificateRequest } from '../rules/pod-certificate-rules.ts';
import { resizeWrite } from '../rules/pod-resize.ts';
import { podDeletionGrace, preparePod } from '../rules/pod-rules.ts';
import { withoutLaterFields } from '../rules/release-fields.ts';
import { csiNodeWrite, prepareCsiDriver } from '../rules/storage-rules.ts';
import { checkHealth, type ServerGates, withoutDisabledHealth } from '../rules/volume-health-rules.ts';
import type { ObjectStore } from './object-store.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from './patches.ts';
import { apiVersionOf, resourceOf } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

interface WritesDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: () => number;
  /** Whether pods get the volume with their service account's token. */
  readonly automount: boolean;
  /** The minor release that the server acts as. */
  readonly minor: number;
  readonly gates: ServerGates;
}

export interface DeleteBody {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

type Target = Pick<Call, 'user' | 'type' | 'namespace' | 'name' | 'subresource'>;

export class Writes {
  readonly #deps: WritesDeps;

  constructor(deps: WritesDeps) {
    this.#deps = deps;
  }

  create(target: Target, body: unknown): StoredObject {
    const { type, namespace } = target;
    const { store } = this.#deps;
    const given = this.#decode(target, body);
    const name = given.metadata.name || this.#generateName(given.metadata.generateName ?? '');
    if (name === '')
      throw invalid(type, '', 'metadata.name', 'Required value: name or generateName is required');
    this.#checkNamespace(target, name);
    const metadata: ObjectMeta = {
      ...given.metadata,
      name,
      ...(type.namespaced ? { namespace } : {}),
      uid: this.uid(),
      creationTimestamp: this.now(),
    };
    for (const own of ['resourceVersion', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
      delete metadata[own];
    }
    const object = this.#prepare(target, { ...given, metadata });
    restrictNode({ call: { ...target, name }, operation: 'create', before: undefined, after: object }, store);
    if (store.get(type, namespace, name) !== undefined) throw alreadyExists(type, name);
    return store.put(type, type.plural === 'csinodes' ? csiNodeWrite(undefined, object) : object);
  }

  update(target: Target, body: unknown): StoredObject {
    const before = this.existing(target);
    const given = this.#decode(target, body);
    if (target.type.plural === 'csinodes' && (given.metadata.resourceVersion ?? '') === '')
      throw invalid(
        target.type,
        target.name,
        'metadata.resourceVersion',
        'Invalid value: 0: must be specified for an update',
      );
    return this.#write(target, before, given);
  }

  patch(target: Target, contentType: string, body: unknown): StoredObject {
    const before = this.existing(target);
    const given = this.#decode(target, applyPatch(before, contentType, body));
    const { uid } = given.metadata;
    // In an update the UID is a precondition, in a patch an immutable field.
    if (uid !== before.metadata.uid)
      throw invalid(target.type, target.name, 'metadata.uid', `Invalid value: "${uid}": field is immutable`);
    return this.#write(target, before, given);
  }

  /** Deletes the object or begins its graceful deletion. Returns the object, and whether it is gone. */
  delete(target: Target, options: DeleteBody): { readonly object: StoredObject; readonly gone: boolean } {
    const { store } = this.#deps;
    const before = this.existing(target);
    const { uid, resourceVersion } = options.preconditions ?? {};
    this.#checkPreconditions(target, before, { uid, resourceVersion });
    restrictNode({ call: target, operation: 'delete', before, after: undefined }, store);
    const graceSeconds =
      target.type.plural === 'pods' ? podDeletionGrace(before as Pod, options.gracePeriodSeconds) : 0;
    if (graceSeconds === 0 && (before.metadata.finalizers ?? []).length === 0)
      return this.#remove(target, before);
    return { object: this.#beginDeletion(target, before, graceSeconds, options), gone: false };
  }

  existing({ type, namespace, name }: Pick<Target, 'type' | 'namespace' | 'name'>): StoredObject {
    const found = this.#deps.store.get(type, namespace, name);
    if (found === undefined) throw notFound(type, name);
    return found;
  }

  now(): string {
    return timeText(this.#deps.clock.now());
  }

  uid(): string {
    const hex = (length: number): string =>
      Array.from({ length }, () => Math.floor(this.#deps.random() * 16).toString(16)).join('');
    return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  }

  suffix(): string {
    const letters = 'bcdfghjklmnpqrstvwxz2456789';
    return Array.from({ length: 5 }, () => letters[Math.floor(this.#deps.random() * letters.length)]).join(
      '',
    );
  }

  #generateName(prefix: string): string {
    return prefix === '' ? '' : `${prefix}${this.suffix()}`;
  }

  #decode({ type, namespace, name }: Target, body: unknown): StoredObject {
    if (!isObject(body)) throw badRequest('the body is no object');
    const given = body as Partial<StoredObject>;
    const apiVersion = apiVersionOf(type);
    if ((given.kind ?? type.kind) !== type.kind || (given.apiVersion ?? apiVersion) !== apiVersion) {
      throw badRequest(
        `${given.kind} in version "${given.apiVersion}" cannot be handled as a ${type.kind} in version "${apiVersion}"`,
      );
    }
    const metadata = given.metadata ?? {};
    if (type.namespaced && (metadata.namespace ?? namespace) !== namespace) {
      throw badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    }
    if (name !== '' && (metadata.name ?? name) !== name) {
      throw badRequest(
        `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    const object = { ...given, apiVersion, kind: type.kind, metadata };
    return withoutLaterFields(type.plural, object, this.#deps.minor);
  }

  #checkNamespace({ type, namespace }: Target, name: string): void {
    if (!type.namespaced) return;
    const found = this.#deps.store.get(resourceOf('namespaces'), '', namespace);
    if (found === undefined) throw notFound(resourceOf('namespaces'), namespace);
    if (found.metadata.deletionTimestamp !== undefined) {
      throw forbidden(
        type,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
      );
    }
  }

  #prepare({ type, user }: Target, object: StoredObject): StoredObject {
    if (type.plural === 'pods') {
      const pod = preparePod(object as Pod, { automount: this.#deps.automount, suffix: this.suffix() });
      return { ...object, ...pod };
    }
    if (type.plural === 'nodes') return taintNewNode(object);
    if (type.plural === 'csidrivers') return prepareCsiDriver(object);
    if (type.plural === 'certificatesigningrequests') return withRequester(object, user);
    if (type.plural === 'podcertificaterequests') return preparePodCertificateRequest(object);
    if (type.plural === 'namespaces') {
      return { ...object, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } };
    }
    if (!type.hasStatus) return object;
    const { status: _, ...rest } = object;
    return { ...rest, status: {} };
  }

  #write(target: Target, before: StoredObject, given: StoredObject): StoredObject {
    const { type } = target;
    const { gates, store } = this.#deps;
    const { uid, resourceVersion } = given.metadata;
    this.#checkPreconditions(target, before, { uid, resourceVersion });
    const written = withoutDisabledHealth(before, this.#after(target, before, given), gates);
    const after = type.plural === 'csinodes' ? csiNodeWrite(before, written) : written;
    restrictNode({ call: target, operation: 'update', before, after, given }, store, gates);
    if (isDeepStrictEqual(after, before)) return before;
    checkHealth(after);
    if (type.plural === 'podcertificaterequests') checkPodCertificateStatus(before, after);
    const waits =
      after.metadata.deletionTimestamp !== undefined && (after.metadata.finalizers ?? []).length === 0;
    if (waits && (after.metadata.deletionGracePeriodSeconds ?? 0) === 0)
      return this.#remove(target, after).object;
    return store.put(type, after);
  }

  #after({ type, subresource }: Target, before: StoredObject, given: StoredObject): StoredObject {
    if (subresource === 'status' || subresource === 'approval') return statusWrite(before, given);
    if (type.plural === 'pods' && subresource === 'resize') return resizeWrite(before, given);
    return objectWrite(type.hasStatus, before, given);
  }

  #checkPreconditions(
    { type, name }: Target,
    before: StoredObject,
    want: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined },
  ): void {
    const { uid, resourceVersion } = before.metadata;
    if (want.uid !== undefined && want.uid !== '' && want.uid !== uid) {
      throw conflict(
        type,
        name,
        `Precondition failed: UID in precondition: ${want.uid}, UID in object meta: ${uid}`,
      );
    }
    if (
      want.resourceVersion !== undefined &&
      want.resourceVersion !== '' &&
      want.resourceVersion !== resourceVersion
    )
      throw staleObject(type, name);
  }

  #beginDeletion(
    { type }: Target,
    before: StoredObject,
    graceSeconds: number,
    options: DeleteBody,
  ): StoredObject {
    const begun = before.metadata.deletionTimestamp !== undefined;
    const left = before.metadata.deletionGracePeriodSeconds ?? 0;
    // A grace period can only be shortened, and only by a request with an explicit one.
    if (begun && (options.gracePeriodSeconds === undefined || graceSeconds >= left)) return before;
    const startedMs = begun
      ? Date.parse(before.metadata.deletionTimestamp ?? '') - left * 1000
      : this.#deps.clock.now();
    const metadata: ObjectMeta = {
      ...before.metadata,
      deletionTimestamp: timeText(startedMs + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
      ...(begun || before.metadata.generation === undefined
        ? {}
        : { generation: before.metadata.generation + 1 }),
    };
    return this.#deps.store.put(type, { ...before, metadata });
  }

  #remove({ type }: Target, object: StoredObject): { readonly object: StoredObject; readonly gone: true } {
    const { namespace = '', name = '' } = object.metadata;
    const last = this.#deps.store.remove(type, namespace, name) ?? object;
    return { object: last, gone: true };
  }
}

export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function applyPatch(before: StoredObject, contentType: string, body: unknown): unknown {
  const plain = structuredClone(before) as Record<string, unknown>;
  if (contentType.startsWith('application/json-patch+json')) return jsonPatch(plain, body);
  if (contentType.startsWith('application/merge-patch+json')) return mergePatch(plain, body);
  if (contentType.startsWith('application/strategic-merge-patch+json')) {
    return strategicMergePatch(before.kind, plain, body);
  }
  throw badRequest(`the patch type ${contentType} is not supported`);
}

const serverOwned = [
  'uid',
  'name',
  'namespace',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'generateName',
  'resourceVersion',
] as const;

function keptMetadata(before: ObjectMeta, given: ObjectMeta): ObjectMeta {
  const metadata: Record<string, unknown> = { ...given };
  for (const own of serverOwned) {
    if (before[own] === undefined) delete metadata[own];
    else metadata[own] = before[own];
  }
  return metadata;
}

/** Applies everything but the status. */
function objectWrite(hasStatus: boolean, before: StoredObject, given: StoredObject): StoredObject {
  const metadata = keptMetadata(before.metadata, given.metadata);
  const { status: _, ...rest } = given;
  const after = {
    ...(hasStatus ? rest : given),
    metadata,
    ...(hasStatus && before.status !== undefined ? { status: before.status } : {}),
  } as StoredObject;
  if (metadata.generation === undefined || isDeepStrictEqual(before.spec, after.spec)) return after;
  return { ...after, metadata: { ...metadata, generation: metadata.generation + 1 } };
}

/**
 * Applies the status and the metadata that the server does not own: kubelets write node labels and annotations this
 * way.
 */
function statusWrite(before: StoredObject, given: StoredObject): StoredObject {
  const metadata = keptMetadata(before.metadata, given.metadata);
  if (before.kind === 'Pod' && before.metadata.ownerReferences !== undefined) {
    metadata.ownerReferences = before.metadata.ownerReferences;
  }
  return { ...before, metadata, status: given.status };
}

/** The requester is the authenticated user, not the one in the request. */
function withRequester(object: StoredObject, { name, groups, uid }: Call['user']): StoredObject {
  const spec = object.spec as CertificateSigningRequest['spec'];
  const type = resourceOf('certificatesigningrequests');
  const { expirationSeconds = 600, request, signerName, usages = [] } = spec;
  const bad = (field: string, why: string): never => {
    throw invalid(type, object.metadata.name ?? '', `spec.${field}`, why);
  };
  if (signerName === undefined) bad('signerName', 'Required value');
  if (usages.length === 0) bad('usages', 'Required value');
  if (expirationSeconds < 600)
    bad('expirationSeconds', 'Invalid value: may not specify a duration less than 600 seconds (10 minutes)');
  try {
    readRequest(Buffer.from(request, 'base64').toString('utf8'));
  } catch {
    bad('request', 'Invalid value: PEM block type must be CERTIFICATE REQUEST');
  }
  return {
    ...object,
    spec: { ...spec, username: name, groups, ...(uid === undefined ? {} : { uid }) },
    status: {},
  };
}

/** Taints a new node until it is ready, so that no pod is scheduled to it. Upstream: nodetaint admission. */
function taintNewNode(object: StoredObject): StoredObject {
  const node = object as Node;
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const taints = node.spec?.taints ?? [];
  if (taints.some(({ key }) => key === taint.key)) return object;
  return { ...object, spec: { ...node.spec, taints: [...taints, taint] } };
}
