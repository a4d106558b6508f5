// Authentication: client certificates, configured tokens, and the service account tokens that the double issues.
// Upstream: pkg/serviceaccount, pkg/registry/core/serviceaccount/storage/token.go, and the TokenReview API.
import { createHmac } from 'node:crypto';
import type { Pod, TokenRequest } from '../../src/api/k8s/types.ts';
import type { Clock } from '../../src/base/clock.ts';
import { ApiError, conflict, forbidden, notFound } from './api-error.ts';
import type { ObjectStore } from './objects/object-store.ts';
import { resourceOf } from './objects/resources.ts';
import { timeText } from './objects/writes.ts';
import type { Call, RawRequest, User } from './request.ts';
import { nodeNameOf } from './rules/node-authorizer.ts';
import { podReferencesAudience } from './rules/token-audiences.ts';

const defaultSeconds = 3600;
const fewestSeconds = 600;
const audience = 'https://kubernetes.default.svc.cluster.local';

interface Claims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly sub: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: { readonly name: string; readonly uid: string };
    readonly pod?: { readonly name: string; readonly uid: string };
    readonly node?: { readonly name: string };
  };
}

interface TokensDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly users: ReadonlyMap<string, User>;
}

export class Tokens {
  readonly #deps: TokensDeps;
  #issued = 0;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
  }

  /** Undefined without credentials. Throws Unauthorized for invalid ones. */
  authenticate(request: Pick<RawRequest, 'headers' | 'user'>): User | undefined {
    if (request.user !== undefined) return request.user;
    const header = request.headers['authorization'];
    if (header === undefined) return undefined;
    const user = this.userOf(/^Bearer (.+)$/.exec(header)?.[1] ?? '')?.user;
    if (user === undefined) throw new ApiError(401, 'Unauthorized', 'Unauthorized');
    return user;
  }

  userOf(token: string): { readonly user: User; readonly audiences: readonly string[] } | undefined {
    const given = this.#deps.users.get(token);
    if (given !== undefined) return { user: given, audiences: [audience] };
    const claims = readToken(token);
    if (claims === undefined || claims.exp * 1000 <= this.#deps.clock.now()) return undefined;
    const { namespace, serviceaccount, pod, node } = claims['kubernetes.io'];
    if (pod !== undefined) {
      const bound = this.#deps.store.get(resourceOf('pods'), namespace, pod.name);
      if (bound?.metadata.uid !== pod.uid) return undefined;
    }
    const user: User = {
      name: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
      extra: {
        ...(pod === undefined
          ? {}
          : {
              'authentication.kubernetes.io/pod-name': [pod.name],
              'authentication.kubernetes.io/pod-uid': [pod.uid],
            }),
        ...(node === undefined ? {} : { 'authentication.kubernetes.io/node-name': [node.name] }),
      },
    };
    return { user, audiences: claims.aud };
  }

  /** Fulfils a TokenRequest; the token is bound to a pod if the request names one. */
  issue(call: Call, body: TokenRequest): TokenRequest {
    const { store, clock } = this.#deps;
    const account = store.get(resourceOf('serviceaccounts'), call.namespace, call.name);
    if (account === undefined) throw notFound(resourceOf('serviceaccounts'), call.name);
    const seconds = body.spec?.expirationSeconds ?? defaultSeconds;
    if (seconds < fewestSeconds) {
      throw new ApiError(
        422,
        'Invalid',
        ' "" is invalid: spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes',
      );
    }
    const audiences = body.spec?.audiences?.length ? body.spec.audiences : [audience];
    this.#restrictNode(call, body, audiences);
    const nowMs = clock.now();
    const claims: Claims = {
      aud: audiences,
      exp: Math.floor(nowMs / 1000) + seconds,
      iat: Math.floor(nowMs / 1000),
      sub: `system:serviceaccount:${call.namespace}:${call.name}`,
      'kubernetes.io': {
        namespace: call.namespace,
        serviceaccount: { name: call.name, uid: account.metadata.uid ?? '' },
        ...this.#boundPod(call, body),
      },
    };
    return {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: call.name, namespace: call.namespace, creationTimestamp: timeText(nowMs) },
      spec: { ...body.spec, audiences, expirationSeconds: seconds },
      status: { token: this.#sign(claims), expirationTimestamp: timeText(claims.exp * 1000) },
    };
  }

  /** A node may request tokens only for audiences of its pods' volumes. Upstream: NodeRestriction admission. */
  #restrictNode(call: Call, body: TokenRequest, audiences: readonly string[]): void {
    if (nodeNameOf(call.user) === undefined) return;
    const { store } = this.#deps;
    const pod = store.get(resourceOf('pods'), call.namespace, body.spec?.boundObjectRef?.name ?? '');
    const foreign = audiences.find(
      (each) => each !== audience && (pod === undefined || !podReferencesAudience(store, pod as Pod, each)),
    );
    if (foreign === undefined) return;
    const why = `audience "${foreign}" not found in pod spec volume, ${call.user.name} is not authorized to request tokens for this audience`;
    throw forbidden(resourceOf('serviceaccounts'), call.name, why);
  }

  #boundPod(call: Call, body: TokenRequest): Pick<Claims['kubernetes.io'], 'pod' | 'node'> {
    const ref = body.spec?.boundObjectRef;
    if (ref === undefined || ref.kind !== 'Pod') return {};
    const type = resourceOf('pods');
    const name = ref.name ?? '';
    const pod = this.#deps.store.get(type, call.namespace, name) as Pod | undefined;
    if (pod === undefined) throw notFound(type, name);
    const uid = pod.metadata?.uid ?? '';
    if (ref.uid !== undefined && ref.uid !== uid) {
      throw conflict(
        type,
        name,
        `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      );
    }
    const node = pod.spec?.nodeName;
    return { pod: { name, uid }, ...(node === undefined ? {} : { node: { name: node } }) };
  }

  #sign(claims: Claims): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    // Every token is unique, as on a real server.
    const text = `${part({ alg: 'HS256', kid: 'double' })}.${part({ ...claims, jti: String(++this.#issued) })}`;
    return `${text}.${signature(text)}`;
  }
}

function signature(text: string): string {
  return createHmac('sha256', 'test-only signing key').update(text).digest('base64url');
}

function readToken(token: string): Claims | undefined {
  const [header, claims, given] = token.split('.');
  if (header === undefined || claims === undefined || given !== signature(`${header}.${claims}`))
    return undefined;
  return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Claims;
}
