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

interface AuthConfiguration {
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

/** Throws if the configuration is impossible; as upstream, the kubelet does not start then. */
export function buildAdmission(deps: BuildAuthDeps): Admit {
  const { config, clock, log, metrics, settings } = deps;
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
  const { anonymous, webhook, x509 } = config.authentication;
  if (!webhook.enabled) {
    if (x509.clientCAFile === '' && !anonymous.enabled)
      throw invalidConfiguration('no authentication method configured');
    return undefined;
  }
  if (api === undefined) throw invalidConfiguration('no client provided, cannot use webhook authentication');
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
  if (mode === 'AlwaysAllow') return undefined;
  if (api === undefined) throw invalidConfiguration('no client provided, cannot use webhook authorization');
  return new AccessReviews({
    api: metrics.timed('authz', api),
    clock,
    random,
    nodeName,
    allowedTtlMs: webhook.cacheAuthorizedTTL.ms,
    deniedTtlMs: webhook.cacheUnauthorizedTTL.ms,
  });
}

function invalidConfiguration(message: string): KubeletError {
  return new KubeletError('invalid', 'InvalidAuthentication', message);
}
