// Whether a user may do something to this node, asked of the API server and remembered for a while.
// Upstream: k8s.io/apiserver/plugin/pkg/authorizer/webhook. Invariants: an error is never remembered; the same question is
// asked once at a time, and its deadline is its own.
import type { LRUCache } from 'lru-cache';
import type { SubjectAccessReview } from '../../api/k8s/types.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import { KubeletError } from '../../base/errors.ts';
import { keptAnswers } from './answers.ts';
import { type ReviewDeps, review } from './reviews.ts';
import type { UserInfo } from './user.ts';

export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  readonly subresource: string;
  /** Of the request, which counts for whether the answer is kept. */
  readonly path: string;
}

interface AccessReviewsDeps extends ReviewDeps {
  readonly nodeName: string;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
}

const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const mostAnswers = 8192;
/** Reviews at once; more users than that do not come at the same moment. */
const mostAsked = 256;
/** A client that makes up long paths shall not fill the memory. */
const longestKept = 10_000;

export class AccessReviews {
  readonly #deps: AccessReviewsDeps;
  readonly #kept: LRUCache<string, { readonly allowed: boolean }>;
  readonly #asked = new Map<string, Promise<boolean>>();

  constructor(deps: AccessReviewsDeps) {
    this.#deps = deps;
    this.#kept = keptAnswers(deps.clock, mostAnswers);
  }

  /** Rejects when the API server does not say. */
  async isAllowed(access: Access, signal: AbortSignal): Promise<boolean> {
    const spec = specOf(access, this.#deps.nodeName);
    const key = JSON.stringify(spec);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.allowed;
    return await raceAbort(this.#shared(key, spec, sizeOf(access, this.#deps.nodeName)), signal);
  }

  #shared(key: string, spec: object, size: number): Promise<boolean> {
    const underWay = this.#asked.get(key);
    if (underWay !== undefined) return underWay;
    if (this.#asked.size >= mostAsked)
      return Promise.reject(
        new KubeletError('unavailable', 'TooManyReviews', 'too many access reviews are waiting'),
      );
    const asked = this.#ask(key, spec, size).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(key: string, spec: object, size: number): Promise<boolean> {
    const { allowedTtlMs, deniedTtlMs } = this.#deps;
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    // Not bound to the request that came first: others may wait for the same answer.
    const { signal } = new AbortController();
    const { status } = await review<SubjectAccessReview>(this.#deps, 'access-reviews', path, body, signal);
    const said = status?.allowed === true;
    const denied = status?.denied === true;
    const ttl = said ? allowedTtlMs : deniedTtlMs;
    if (said && denied)
      throw new KubeletError('internal', 'Contradiction', 'the access review both allows and denies');
    if (ttl > 0 && size < longestKept) this.#kept.set(key, { allowed: said }, { ttl });
    return said;
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
