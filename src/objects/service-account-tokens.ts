// Tokens of service accounts, bound to pods: kept, and fetched anew when four fifths of their life are over.
// Upstream: pkg/kubelet/token. Invariants: a token that still holds is told while the server is away; one that has expired
// never is; tokens are kept in memory only and never logged.

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

const longestUseMs = 24 * 3_600_000;
const longestJitterMs = 10_000;
/** More than any node has pods; beyond, what has expired is looked for. */
const collectAbove = 64;

interface Kept {
  readonly token: TokenRequest;
  readonly podUid: string | undefined;
  readonly expiresAtMs: number;
  readonly refreshAtMs: number;
}

export class ServiceAccountTokens {
  readonly #deps: ServiceAccountTokensDeps;
  readonly #kept = new Map<string, Kept>();
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
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#deps.clock.now() < kept.refreshAtMs) return kept.token;
    let fetching = this.#fetching.get(key);
    if (fetching === undefined) {
      fetching = this.#fetch(key, namespace, serviceAccount, request, signal);
      this.#fetching.set(key, fetching);
      const forget = (): boolean => this.#fetching.delete(key);
      fetching.then(forget, forget);
    }
    return await fetching;
  }

  /** The pod has gone, and with it the tokens bound to it. */
  forgetPod(podUid: string): void {
    for (const [key, kept] of this.#kept) if (kept.podUid === podUid) this.#kept.delete(key);
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
      this.#keep(key, token, request);
      return token;
    } catch (err) {
      const kept = this.#kept.get(key);
      const { kind, reason } =
        err instanceof KubeletError ? err : { kind: 'internal' as const, reason: 'TokenRequestFailed' };
      if (kept === undefined) {
        throw new KubeletError(kind, reason, `failed to fetch token: ${describeError(err)}`, { cause: err });
      }
      if (clock.now() >= kept.expiresAtMs) {
        const message = `token of ${namespace}/${serviceAccount} expired and refresh failed: ${describeError(err)}`;
        throw new KubeletError(kind, reason, message, { cause: err });
      }
      log.warn('Service account token cannot be renewed yet, the present one still holds', {
        serviceAccount: `${namespace}/${serviceAccount}`,
        err,
      });
      return kept.token;
    }
  }

  // differs from upstream: an authorizer that is behind us grants soon what it refuses now. The pod's start does not have
  // to fail for that.
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

  #keep(key: string, token: TokenRequest, request: TokenRequest): void {
    const { clock, random } = this.#deps;
    if (this.#kept.size > collectAbove) this.#collect();
    const expiresAtMs = Date.parse(token.status?.expirationTimestamp ?? '');
    const lifeMs = (token.spec?.expirationSeconds ?? 0) * 1000;
    // A token that does not say how long it holds is asked for each time.
    if (Number.isNaN(expiresAtMs) || lifeMs === 0) return;
    const jitterMs = random() * longestJitterMs;
    const refreshAtMs = Math.min(expiresAtMs - lifeMs * 0.2, expiresAtMs - lifeMs + longestUseMs) - jitterMs;
    const podUid = request.spec?.boundObjectRef?.uid;
    this.#kept.set(key, { token, podUid, expiresAtMs, refreshAtMs: Math.max(refreshAtMs, clock.now()) });
  }

  #collect(): void {
    const nowMs = this.#deps.clock.now();
    for (const [key, { expiresAtMs }] of this.#kept) if (expiresAtMs <= nowMs) this.#kept.delete(key);
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
