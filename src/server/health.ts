// /healthz: `ok` if all checks pass, the list of checks if one fails or with ?verbose. The overview withholds the reasons; the
// path of a single check, which needs its own permission, shows them. Upstream: k8s.io/apiserver/pkg/server/healthz.
import {
  errorResponse,
  type HttpRequest,
  type HttpResponse,
  notFound,
  type RouteHandler,
  textResponse,
} from './http-message.ts';
import type { RouteHandlers } from './routes.ts';

export interface HealthCheck {
  readonly name: string;
  /** The reason for a failure; undefined if healthy. Must not block. */
  check(): string | undefined;
  /** Reported without failing /healthz: a failure that a restart of the kubelet would not fix. */
  readonly advisory?: true;
}

/** Called with the result of each check. */
export interface HealthObserver {
  observe(name: string, isHealthy: boolean): void;
}

/** These two pass whenever the kubelet responds: log lines are written synchronously. */
const alwaysHealthy: readonly HealthCheck[] = [
  { name: 'ping', check: () => undefined },
  { name: 'log', check: () => undefined },
];

/** /healthz over all checks, and /healthz/NAME for each. */
export function healthHandlers(checks: readonly HealthCheck[], observer?: HealthObserver): RouteHandlers {
  const all = [...alwaysHealthy, ...checks];
  return {
    health: overview(all, observer),
    healthCheck: ({ params }) => {
      const check = all.find(({ name }) => name === params['check']);
      return check === undefined ? notFound() : single(check);
    },
  };
}

function overview(checks: readonly HealthCheck[], observer: HealthObserver | undefined): RouteHandler {
  return (request) => {
    const { lines, failed } = runAll(checks, request, observer);
    if (failed) return errorResponse(500, `${lines.join('')}healthz check failed`);
    const body = request.query.has('verbose') ? `${lines.join('')}healthz check passed\n` : 'ok';
    const answer = textResponse(body);
    return { ...answer, headers: { ...answer.headers, 'x-content-type-options': 'nosniff' } };
  };
}

function runAll(
  checks: readonly HealthCheck[],
  request: HttpRequest,
  observer: HealthObserver | undefined,
): { readonly lines: readonly string[]; readonly failed: boolean } {
  const excluded = new Set(request.query.getAll('exclude').filter((name) => name !== ''));
  let failed = false;
  const lines = checks.map((each) => {
    if (excluded.delete(each.name)) return `[+]${each.name} excluded: ok\n`;
    const isHealthy = each.check() === undefined;
    observer?.observe(each.name, isHealthy);
    if (isHealthy) return `[+]${each.name} ok\n`;
    if (each.advisory === true) return `[!]${each.name} failed, which does not count: reason withheld\n`;
    failed = true;
    return `[-]${each.name} failed: reason withheld\n`;
  });
  if (excluded.size > 0) {
    const names = [...excluded].map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}\n`);
  }
  return { lines, failed };
}

function single(check: HealthCheck): HttpResponse {
  const failure = check.check();
  return failure === undefined ? textResponse('ok') : errorResponse(500, `internal server error: ${failure}`);
}

/**
 * Reports a lease that is not renewed. Advisory, since restarting the kubelet does not bring an API server back.
 * differs from upstream: there nothing on the node reports that the control plane considers the node dead.
 */
export function leaseChecks(lease: { health(): string | undefined } | undefined): readonly HealthCheck[] {
  return lease === undefined ? [] : [{ name: 'lease', check: () => lease.health(), advisory: true }];
}
