// Builds authentication and authorization from the configuration. Upstream: BuildAuth in cmd/kubelet/app/auth.go.
import type { ApiClient } from '../../api/ports/api-client.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { Admit } from '../router.ts';
import { AccessReviews } from './access-reviews.ts';
import { type AdmitDeps, admission } from './admit.ts';
import type { AuthMetrics } from './auth-metrics.ts';
import { TokenReviews } from './token-reviews.ts';

interface AuthModes {
  readonly authentication: { readonly webhook: { readonly enabled: boolean } };
  readonly authorization: { readonly mode: string };
}

interface AuthConfiguration extends AuthModes {
  readonly authentication: {
    readonly x509: { readonly clientCAFile: string };
    readonly webhook: { readonly enabled: boolean; readonly cacheTTL: { readonly ms: number } };
    readonly anonymous: { readonly enabled: boolean };
  };
  readonly authorization: {
    readonly mode: string;
    readonly webhook: {
      readonly cacheAuthorizedTTL: { readonly ms: number };
      readonly cacheUnauthorizedTTL: { readonly ms: number };
    };
  };
}

interface BuildAuthDeps {
  readonly config: AuthConfiguration;
  /** Undefined on a standalone node. */
  readonly api: Pick<ApiClient, 'create'> | undefined;
  readonly nodeName: string;
  readonly settings: AdmitDeps['settings'] & { readonly certificateUids: boolean };
  /** The key of the token hashes, random per process. */
  readonly hashKey: Uint8Array;
  readonly random: () => number;
  readonly metrics: Pick<AuthMetrics, 'observeCertificate' | 'timed'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Why the configuration is impossible, with or without an API server; undefined if it is not. Without any method of
 * authentication every request is answered with 401, as upstream.
 */
export function admissionFault(
  { authentication, authorization }: AuthModes,
  hasApi: boolean,
): string | undefined {
  if (hasApi) return undefined;
  if (authentication.webhook.enabled) return 'no client provided, cannot use webhook authentication';
  if (authorization.mode !== 'AlwaysAllow') return 'no client provided, cannot use webhook authorization';
  return undefined;
}

/** Throws if the configuration is impossible; as upstream, the kubelet does not start then. */
export function buildAdmission(deps: BuildAuthDeps): Admit {
  const { api, config, clock, log, metrics, settings } = deps;
  const fault = admissionFault(config, api !== undefined);
  if (fault !== undefined) throw new KubeletError('invalid', 'InvalidAuthentication', fault);
  return admission({
    authentication: {
      certificates: config.authentication.x509.clientCAFile !== '',
      certificateUids: settings.certificateUids,
      tokens: tokenReviews(deps),
      anonymous: config.authentication.anonymous.enabled,
      metrics,
      clock,
    },
    access: accessReviews(deps),
    settings,
    log,
  });
}

function tokenReviews(deps: BuildAuthDeps): TokenReviews | undefined {
  const { api, clock, config, hashKey, metrics, random } = deps;
  const { webhook } = config.authentication;
  if (!webhook.enabled || api === undefined) return undefined;
  return new TokenReviews({
    api: metrics.timed('authn', api),
    clock,
    random,
    ttlMs: webhook.cacheTTL.ms,
    hashKey,
  });
}

function accessReviews(deps: BuildAuthDeps): AccessReviews | undefined {
  const { api, clock, config, metrics, nodeName, random } = deps;
  const { mode, webhook } = config.authorization;
  if (mode === 'AlwaysAllow' || api === undefined) return undefined;
  return new AccessReviews({
    api: metrics.timed('authz', api),
    clock,
    random,
    nodeName,
    allowedTtlMs: webhook.cacheAuthorizedTTL.ms,
    deniedTtlMs: webhook.cacheUnauthorizedTTL.ms,
  });
}
