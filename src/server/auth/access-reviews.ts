// Authorizes access to this node by SubjectAccessReview, with a cache.
// Upstream: k8s.io/apiserver/plugin/pkg/authorizer/webhook. Invariants: errors are never cached; equal reviews in flight are
// shared, and have their own deadline.
import type { LRUCache } from 'lru-cache';
import type { SubjectAccessReview } from '../../api/k8s/types.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import { KubeletError } from '../../base/errors.ts';
import { reviewCache } from './review-cache.ts';
import { type ReviewDeps, review } from './reviews.ts';
import type { UserInfo } from './user.ts';

export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  readonly subresource: string;
  /** The path of the request, which decides whether the result is cached. */
  readonly path: string;
}

interface AccessReviewsDeps extends ReviewDeps {
  readonly nodeName: string;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
}

const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const maxEntries = 8192;
/** Concurrent reviews; more users than that do not arrive at the same moment. */
const maxInFlight = 256;
/** Clients must not fill the memory with long paths. */
const maxCachedLength = 10_000;

export class AccessReviews {
  readonly #deps: AccessReviewsDeps;
  readonly #cache: LRUCache<string, { readonly allowed: boolean }>;
  readonly #inFlight = new Map<string, Promise<boolean>>();

  constructor(deps: AccessReviewsDeps) {
    this.#deps = deps;
    this.#cache = reviewCache(deps.clock, maxEntries);
  }

  /** Rejects if the API server does not decide. */
  async isAllowed(access: Access, signal: AbortSignal): Promise<boolean> {
    const spec = specOf(access, this.#deps.nodeName);
    const key = JSON.stringify(spec);
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached.allowed;
    return await raceAbort(this.#shared(key, spec, sizeOf(access, this.#deps.nodeName)), signal);
  }

  #shared(key: string, spec: object, size: number): Promise<boolean> {
    const inFlight = this.#inFlight.get(key);
    if (inFlight !== undefined) return inFlight;
    if (this.#inFlight.size >= maxInFlight)
      return Promise.reject(
        new KubeletError('unavailable', 'TooManyReviews', 'too many access reviews are waiting'),
      );
    const started = this.#review(key, spec, size).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, started);
    return started;
  }

  async #review(key: string, spec: object, size: number): Promise<boolean> {
    const { allowedTtlMs, deniedTtlMs } = this.#deps;
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    // Not bound to the first request: others may wait for the same review.
    const { signal } = new AbortController();
    const { status } = await review<SubjectAccessReview>(this.#deps, 'access-reviews', path, body, signal);
    const allowed = status?.allowed === true;
    const denied = status?.denied === true;
    const ttl = allowed ? allowedTtlMs : deniedTtlMs;
    if (allowed && denied)
      throw new KubeletError('internal', 'Contradiction', 'the access review both allows and denies');
    if (ttl > 0 && size < maxCachedLength) this.#cache.set(key, { allowed }, { ttl });
    return allowed;
  }
}

function specOf({ user, verb, subresource }: Access, nodeName: string): object {
  return {
    resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
    user: user.name,
    ...(user.groups.length === 0 ? {} : { groups: user.groups }),
    ...(Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
    ...(user.uid === '' ? {} : { uid: user.uid }),
  };
}

function sizeOf({ path: requested, subresource, verb }: Access, nodeName: string): number {
  return `v1nodes${verb}${subresource}${nodeName}${requested}`.length;
}
