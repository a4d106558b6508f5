// /healthz: one word when all is well, the list of checks when it is not or when asked for. Reasons are not told to
// everyone who asks; they are told to who asks for that one check, and logged by who watches it.
// Upstream: k8s.io/apiserver/pkg/server/healthz.
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
  /** What is wrong, in a sentence; undefined when nothing is. Must answer at once. */
  check(): string | undefined;
  /** Told, but not counted: what a restart of the kubelet would not mend. */
  readonly advisory?: true;
}

/** Hears what each check found. */
export interface HealthObserver {
  observe(name: string, well: boolean): void;
}

/** That an answer comes at all is what these two say: lines of the log are written as they are made. */
const alwaysWell: readonly HealthCheck[] = [
  { name: 'ping', check: () => undefined },
  { name: 'log', check: () => undefined },
];

/** /healthz over all checks, and /healthz/NAME for each. */
export function healthHandlers(checks: readonly HealthCheck[], observer?: HealthObserver): RouteHandlers {
  const all = [...alwaysWell, ...checks];
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
    const well = each.check() === undefined;
    observer?.observe(each.name, well);
    if (well) return `[+]${each.name} ok\n`;
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
  const wrong = check.check();
  return wrong === undefined ? textResponse('ok') : errorResponse(500, `internal server error: ${wrong}`);
}

/**
 * Reports a lease that is not renewed. Advisory, since restarting the kubelet does not bring an API server back.
 * differs from upstream: there nothing on the node reports that the control plane considers the node dead.
 */
export function leaseChecks(lease: { health(): string | undefined } | undefined): readonly HealthCheck[] {
  return lease === undefined ? [] : [{ name: 'lease', check: () => lease.health(), advisory: true }];
}
