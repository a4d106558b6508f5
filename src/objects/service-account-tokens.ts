// Caches service account tokens bound to pods, and renews each after 80 % of its lifetime.
// Invariants: a valid token is returned while the API server is unreachable, an expired one only if autonomy kept it; tokens are in
// memory only and never logged; a clock that was ahead when a token arrived delays no renewal. Upstream: pkg/kubelet/token.

import type { TokenRequest } from '../api/k8s/types.ts';
import { forbiddenRetryMs } from '../api/ports/authorizer-lag.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

interface ServiceAccountTokensDeps {
  readonly create: (
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ) => Promise<TokenRequest>;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

const maxAgeMs = 24 * 3_600_000;
const maxJitterMs = 10_000;
/** Cache size above which expired tokens are removed. */
const collectAbove = 64;

interface CachedToken {
  readonly token: TokenRequest;
  readonly podUid: string | undefined;
  readonly expiresAtMs: number;
  readonly refreshAtMs: number;
}

export class ServiceAccountTokens {
  readonly #deps: ServiceAccountTokensDeps;
  readonly #cached = new Map<string, CachedToken>();
  readonly #fetching = new Map<string, Promise<TokenRequest>>();

  constructor(deps: ServiceAccountTokensDeps) {
    this.#deps = deps;
  }

  async get(
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<TokenRequest> {
    const key = keyOf(namespace, serviceAccount, request);
    const cached = this.#cached.get(key);
    if (cached !== undefined && this.#deps.clock.now() < cached.refreshAtMs) return cached.token;
    let fetching = this.#fetching.get(key);
    if (fetching === undefined) {
      fetching = this.#fetch(key, namespace, serviceAccount, request, signal);
      this.#fetching.set(key, fetching);
      const forget = (): boolean => this.#fetching.delete(key);
      fetching.then(forget, forget);
    }
    return await fetching;
  }

  /** Removes the tokens bound to a deleted pod. */
  forgetPod(podUid: string): void {
    for (const [key, cached] of this.#cached) if (cached.podUid === podUid) this.#cached.delete(key);
  }

  async #fetch(
    key: string,
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<TokenRequest> {
    const { clock, log } = this.#deps;
    try {
      const token = await this.#create(namespace, serviceAccount, request, signal);
      this.#store(key, token, request);
      return token;
    } catch (err) {
      const cached = this.#cached.get(key);
      const { kind, reason } =
        err instanceof KubeletError ? err : { kind: 'internal' as const, reason: 'TokenRequestFailed' };
      if (cached === undefined) {
        throw new KubeletError(kind, reason, `failed to fetch token: ${describeError(err)}`, { cause: err });
      }
      if (clock.now() >= cached.expiresAtMs) {
        const message = `token of ${namespace}/${serviceAccount} expired and refresh failed: ${describeError(err)}`;
        throw new KubeletError(kind, reason, message, { cause: err });
      }
      log.warn('Failed to renew service account token, using the current one until it expires', {
        serviceAccount: `${namespace}/${serviceAccount}`,
        err,
      });
      return cached.token;
    }
  }

  // differs from upstream: retries when forbidden, since the Node authorizer may not have seen the pod yet. The pod's start
  // need not fail for that.
  async #create(...args: Parameters<ServiceAccountTokensDeps['create']>): Promise<TokenRequest> {
    const { clock, create } = this.#deps;
    for (const waitMs of forbiddenRetryMs) {
      try {
        return await create(...args);
      } catch (err) {
        if (!isKind(err, 'forbidden')) throw err;
      }
      await clock.sleep(waitMs, args[3]);
    }
    return await create(...args);
  }

  #store(key: string, token: TokenRequest, request: TokenRequest): void {
    const { random } = this.#deps;
    if (this.#cached.size > collectAbove) this.#collect();
    const expiresAtMs = Date.parse(token.status?.expirationTimestamp ?? '');
    const lifetimeMs = (token.spec?.expirationSeconds ?? 0) * 1000;
    // A token without an expiration is requested each time.
    if (Number.isNaN(expiresAtMs) || lifetimeMs === 0) return;
    const jitterMs = random() * maxJitterMs;
    const refreshAtMs =
      Math.min(expiresAtMs - lifetimeMs * 0.2, expiresAtMs - lifetimeMs + maxAgeMs) - jitterMs;
    const podUid = request.spec?.boundObjectRef?.uid;
    this.#cached.set(key, { token, podUid, expiresAtMs, refreshAtMs });
  }

  #collect(): void {
    const nowMs = this.#deps.clock.now();
    for (const [key, { expiresAtMs }] of this.#cached) if (expiresAtMs <= nowMs) this.#cached.delete(key);
  }
}

function keyOf(namespace: string, serviceAccount: string, { metadata, spec }: TokenRequest): string {
  return JSON.stringify([
    namespace,
    serviceAccount,
    spec?.audiences ?? [],
    spec?.expirationSeconds ?? 0,
    spec?.boundObjectRef ?? {},
    metadata?.uid ?? '',
  ]);
}
