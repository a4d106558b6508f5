// Whose token this is, asked of the API server once and remembered for a while. Tokens themselves are not kept, only keyed
// hashes of them. Upstream: k8s.io/apiserver's webhook token authenticator behind cached_token_authenticator.go.
// Invariants: one token is asked about once at a time, however many bring it; an error is never remembered, a plain "no" is;
// who waits is let go when its own client goes away.
import { createHmac } from 'node:crypto';
import type { LRUCache } from 'lru-cache';
import type { TokenReview } from '../../api/k8s.ts';
import { KubeletError } from '../../base/errors.ts';
import { raceAbort } from '../../base/race-abort.ts';
import { keptAnswers } from './answers.ts';
import { type ReviewDeps, review } from './reviews.ts';
import type { UserInfo } from './user.ts';

export interface TokenReviewsDeps extends ReviewDeps {
  /** How long an answer is kept; 0 keeps none. */
  readonly ttlMs: number;
  /** Keys the hashes under which answers are kept. */
  readonly hashKey: Uint8Array;
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews';
/** More tokens than a cluster of the largest supported size uses. */
const mostTokens = 32 * 1024;

type Verdict = { readonly user: UserInfo | undefined };

export class TokenReviews {
  readonly #deps: TokenReviewsDeps;
  readonly #kept: LRUCache<string, Verdict>;
  readonly #asked = new Map<string, Promise<Verdict>>();

  constructor(deps: TokenReviewsDeps) {
    this.#deps = deps;
    this.#kept = keptAnswers(deps.clock, mostTokens);
  }

  /** The token's owner, or nobody; rejects when that could not be found out. */
  async userOf(token: string, signal: AbortSignal): Promise<UserInfo | undefined> {
    const key = createHmac('sha256', this.#deps.hashKey).update(token).digest('base64');
    const verdict = this.#kept.get(key) ?? (await raceAbort(this.#shared(key, token), signal));
    return verdict.user;
  }

  #shared(key: string, token: string): Promise<Verdict> {
    const underWay = this.#asked.get(key);
    if (underWay !== undefined) return underWay;
    // Not bound to the request that came first: others may wait for the same answer.
    const asked = this.#ask(key, token, new AbortController().signal).finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(key: string, token: string, signal: AbortSignal): Promise<Verdict> {
    const { ttlMs } = this.#deps;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const { status } = await review<TokenReview>(this.#deps, path, body, signal);
    if (status?.authenticated !== true && status?.error)
      throw new KubeletError('forbidden', 'InvalidToken', status.error);
    const verdict: Verdict = { user: status?.authenticated === true ? userOf(status) : undefined };
    if (ttlMs > 0) this.#kept.set(key, verdict, { ttl: ttlMs });
    return verdict;
  }
}

function userOf({ user }: NonNullable<TokenReview['status']>): UserInfo {
  return {
    name: user?.username ?? '',
    uid: user?.uid ?? '',
    groups: user?.groups ?? [],
    extra: user?.extra ?? {},
  };
}
