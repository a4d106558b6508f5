// Metrics of requests to the kubelet's ports. Upstream: ServeHTTP in pkg/kubelet/server/server.go and server/metrics.
// Invariant: a client cannot create series: unknown paths and methods count as `other`.
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { HttpAnswer, HttpHandler, HttpRequest } from './http-message.ts';
import type { Route } from './router.ts';

const labels = ['long_running', 'method', 'path', 'server_type'] as const;
type Labels = Readonly<Record<(typeof labels)[number], string>>;

const methods: ReadonlySet<string> = new Set('OPTIONS GET HEAD POST PUT DELETE TRACE CONNECT'.split(' '));
/** portForward is not among them, since upstream compares another spelling. */
const longRunning: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'debug']);

export class HttpMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #requests;
  readonly #durations;
  readonly #inflight;
  readonly #counts = new Map<string, number>();

  constructor(registry: Metrics, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#requests = registry.counter({
      name: 'kubelet_http_requests_total',
      help: 'Requests to the kubelet, by path, method and port.',
      labels,
    });
    this.#durations = registry.histogram({
      name: 'kubelet_http_requests_duration_seconds',
      help: 'Seconds until the response was complete or its stream started, by path, method and port.',
      labels,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
    this.#inflight = registry.gauge({
      name: 'kubelet_http_inflight_requests',
      help: 'Requests to the kubelet in flight, by path, method and port.',
      labels,
    });
  }

  /** Wraps the handler of a port that serves these routes. */
  instrument(
    serverType: 'readonly' | 'readwrite' | 'dashboard' | 'local',
    routes: readonly Route[],
    handler: HttpHandler,
  ): HttpHandler {
    const known = new Set(routes.map(({ row }) => rootOf(row.path)));
    return (request) => this.#count(labelsOf(request, known, serverType), () => handler(request));
  }

  async #count(of: Labels, answer: () => ReturnType<HttpHandler>): Promise<HttpAnswer> {
    const beganMs = this.#clock.monotonic();
    this.#requests.inc(of);
    this.#change(of, 1);
    try {
      return await answer();
    } finally {
      this.#change(of, -1);
      // differs from upstream: there the duration is observed before the request is handled, so it is always near zero.
      this.#durations.observe(of, (this.#clock.monotonic() - beganMs) / 1000);
    }
  }

  #change(of: Labels, by: number): void {
    const key = labels.map((name) => of[name]).join(' ');
    const count = (this.#counts.get(key) ?? 0) + by;
    this.#counts.set(key, count);
    this.#inflight.set(of, count);
  }
}

function labelsOf(request: HttpRequest, known: ReadonlySet<string>, serverType: string): Labels {
  const root = rootOf(request.path);
  const path = known.has(root) ? root : 'other';
  return {
    long_running: String(longRunning.has(path)),
    method: methods.has(request.method) ? request.method : 'other',
    path,
    server_type: serverType,
  };
}

/** The first segment of a path; for metrics the second as well. */
function rootOf(path: string): string {
  const [first = '', second] = path.split('/').slice(1);
  return first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
}
