// Authenticates tokens by TokenReview, with a cache. Tokens themselves are not stored, only keyed hashes of them.
// Upstream: k8s.io/apiserver's webhook token authenticator behind cached_token_authenticator.go.
// Invariants: a token has one review in flight, however many requests carry it; errors are never cached, rejections are; a
// waiting request is aborted when its own client disconnects.
import { createHmac } from 'node:crypto';
import type { LRUCache } from 'lru-cache';
import type { TokenReview } from '../../api/k8s/types.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import { KubeletError } from '../../base/errors.ts';
import { reviewCache } from './review-cache.ts';
import { type ReviewDeps, review } from './reviews.ts';
import type { UserInfo } from './user.ts';

interface TokenReviewsDeps extends ReviewDeps {
  /** How long a result is cached; 0 disables the cache. */
  readonly ttlMs: number;
  /** The key of the token hashes. */
  readonly hashKey: Uint8Array;
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews';
/** More tokens than the largest supported cluster uses. */
const maxValid = 32 * 1024;
/** Invalid tokens have a separate cache: forged tokens must not evict valid ones. */
const maxInvalid = 4 * 1024;
/** Longer tokens are not sent to the API server. */
const maxTokenLength = 16 * 1024;
/** Concurrent reviews of unknown tokens, in total and per address. */
const maxInFlight = 64;
const maxInFlightPerPeer = 8;

type Verdict = { readonly user: UserInfo | undefined };

export class TokenReviews {
  readonly #deps: TokenReviewsDeps;
  readonly #cache: LRUCache<string, Verdict>;
  readonly #invalid: LRUCache<string, Verdict>;
  readonly #inFlightByPeer = new Map<string, number>();
  readonly #inFlight = new Map<string, Promise<Verdict>>();

  constructor(deps: TokenReviewsDeps) {
    this.#deps = deps;
    this.#cache = reviewCache(deps.clock, maxValid);
    this.#invalid = reviewCache(deps.clock, maxInvalid);
  }

  /**
   * The user of the token, undefined if it is invalid; rejects if the review fails. `peer`: the client's address, whose
   * concurrent reviews of unknown tokens are limited.
   */
  async userOf(token: string, signal: AbortSignal, peer = ''): Promise<UserInfo | undefined> {
    if (token.length > maxTokenLength)
      throw new KubeletError('invalid', 'InvalidToken', 'the token is too long');
    const key = createHmac('sha256', this.#deps.hashKey).update(token).digest('base64');
    const cached = this.#cache.get(key) ?? this.#invalid.get(key);
    const verdict = cached ?? (await raceAbort(this.#shared(key, token, peer), signal));
    return verdict.user;
  }

  #shared(key: string, token: string, peer: string): Promise<Verdict> {
    const inFlight = this.#inFlight.get(key);
    if (inFlight !== undefined) return inFlight;
    const ofPeer = this.#inFlightByPeer.get(peer) ?? 0;
    if (this.#inFlight.size >= maxInFlight || ofPeer >= maxInFlightPerPeer)
      return Promise.reject(
        new KubeletError('unavailable', 'TooManyReviews', 'too many token reviews are waiting'),
      );
    this.#inFlightByPeer.set(peer, ofPeer + 1);
    // Not bound to the first request: others may wait for the same review.
    const started = this.#review(key, token, new AbortController().signal).finally(() => {
      this.#inFlight.delete(key);
      const left = (this.#inFlightByPeer.get(peer) ?? 1) - 1;
      if (left > 0) this.#inFlightByPeer.set(peer, left);
      else this.#inFlightByPeer.delete(peer);
    });
    this.#inFlight.set(key, started);
    return started;
  }

  async #review(key: string, token: string, signal: AbortSignal): Promise<Verdict> {
    const { ttlMs } = this.#deps;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const { status } = await review<TokenReview>(this.#deps, 'token-reviews', path, body, signal);
    if (status?.authenticated !== true && status?.error)
      throw new KubeletError('forbidden', 'InvalidToken', status.error);
    const verdict: Verdict = { user: status?.authenticated === true ? userOf(status) : undefined };
    const cache = verdict.user === undefined ? this.#invalid : this.#cache;
    if (ttlMs > 0) cache.set(key, verdict, { ttl: ttlMs });
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
