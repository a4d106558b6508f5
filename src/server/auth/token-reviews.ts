// Whose token this is, asked of the API server once and remembered for a while. Tokens themselves are not kept, only keyed
// hashes of them. Upstream: k8s.io/apiserver's webhook token authenticator behind cached_token_authenticator.go.
// Invariants: one token is asked about once at a time, however many bring it; an error is never remembered, a plain "no" is;
// who waits is let go when its own client goes away.
import { createHmac } from 'node:crypto';
import type { LRUCache } from 'lru-cache';
import type { TokenReview } from '../../api/k8s/types.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import { KubeletError } from '../../base/errors.ts';
import { keptAnswers } from './answers.ts';
import { type ReviewDeps, review } from './reviews.ts';
import type { UserInfo } from './user.ts';

interface TokenReviewsDeps extends ReviewDeps {
  /** How long an answer is kept; 0 keeps none. */
  readonly ttlMs: number;
  /** Keys the hashes under which answers are kept. */
  readonly hashKey: Uint8Array;
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews';
/** More tokens than a cluster of the largest supported size uses. */
const mostTokens = 32 * 1024;
/** Invalid tokens are kept apart: made-up ones must not displace valid ones. */
const mostInvalid = 4 * 1024;
/** No longer token is sent to the API server. */
const longestToken = 16 * 1024;
/** Unknown tokens under review at once, of all clients and of one address. */
const mostAsked = 64;
const mostAskedPerPeer = 8;

type Verdict = { readonly user: UserInfo | undefined };

export class TokenReviews {
  readonly #deps: TokenReviewsDeps;
  readonly #kept: LRUCache<string, Verdict>;
  readonly #invalid: LRUCache<string, Verdict>;
  readonly #askedByPeer = new Map<string, number>();
  readonly #asked = new Map<string, Promise<Verdict>>();

  constructor(deps: TokenReviewsDeps) {
    this.#deps = deps;
    this.#kept = keptAnswers(deps.clock, mostTokens);
    this.#invalid = keptAnswers(deps.clock, mostInvalid);
  }

  /**
   * The token's owner, or nobody; rejects when that could not be found out. `peer`: the address it came from, which may have
   * few unknown tokens under review at once.
   */
  async userOf(token: string, signal: AbortSignal, peer = ''): Promise<UserInfo | undefined> {
    if (token.length > longestToken)
      throw new KubeletError('invalid', 'InvalidToken', 'the token is too long');
    const key = createHmac('sha256', this.#deps.hashKey).update(token).digest('base64');
    const kept = this.#kept.get(key) ?? this.#invalid.get(key);
    const verdict = kept ?? (await raceAbort(this.#shared(key, token, peer), signal));
    return verdict.user;
  }

  #shared(key: string, token: string, peer: string): Promise<Verdict> {
    const underWay = this.#asked.get(key);
    if (underWay !== undefined) return underWay;
    const ofPeer = this.#askedByPeer.get(peer) ?? 0;
    if (this.#asked.size >= mostAsked || ofPeer >= mostAskedPerPeer)
      return Promise.reject(
        new KubeletError('unavailable', 'TooManyReviews', 'too many token reviews are waiting'),
      );
    this.#askedByPeer.set(peer, ofPeer + 1);
    // Not bound to the request that came first: others may wait for the same answer.
    const asked = this.#ask(key, token, new AbortController().signal).finally(() => {
      this.#asked.delete(key);
      const left = (this.#askedByPeer.get(peer) ?? 1) - 1;
      if (left > 0) this.#askedByPeer.set(peer, left);
      else this.#askedByPeer.delete(peer);
    });
    this.#asked.set(key, asked);
    return asked;
  }

  async #ask(key: string, token: string, signal: AbortSignal): Promise<Verdict> {
    const { ttlMs } = this.#deps;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const { status } = await review<TokenReview>(this.#deps, 'token-reviews', path, body, signal);
    if (status?.authenticated !== true && status?.error)
      throw new KubeletError('forbidden', 'InvalidToken', status.error);
    const verdict: Verdict = { user: status?.authenticated === true ? userOf(status) : undefined };
    const answers = verdict.user === undefined ? this.#invalid : this.#kept;
    if (ttlMs > 0) answers.set(key, verdict, { ttl: ttlMs });
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
