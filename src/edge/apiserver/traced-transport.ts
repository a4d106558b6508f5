// Makes every request to the API server a client span, which ends with the body of its response: the span of a watch lasts as
// long as the watch. Upstream: otelhttp's transport, installed by tracing.WrapperFor in cmd/kubelet/app/server.go.
import { describeError, isAbort, KubeletError } from '../../base/errors.ts';
import { endWith, type Tracer } from '../../base/tracer.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

/** Upstream's name: spans can be selected by it. */
const scope = 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp';

export class TracedTransport implements Transport {
  readonly host: string;
  readonly #inner: Transport;
  readonly #server: URL;
  readonly #tracer: Tracer;

  constructor(inner: Transport, server: URL, tracer: Tracer) {
    this.host = inner.host;
    this.#inner = inner;
    this.#server = server;
    this.#tracer = tracer;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const { hostname, origin, pathname, port, protocol } = this.#server;
    const span = this.#tracer.start({
      scope,
      name: `HTTP ${request.method}`,
      kind: 'client',
      attributes: {
        'http.request.method': request.method,
        'server.address': hostname,
        'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
        'url.full': origin + pathname.replace(/\/$/, '') + request.path,
      },
    });
    try {
      const response = await span.run(() =>
        this.#inner.send({ ...request, headers: { ...request.headers, ...this.#tracer.headers() } }),
      );
      span.set({ 'http.response.status_code': response.status });
      if (response.status >= 400) {
        span.set({ 'error.type': String(response.status) });
        span.markFailed();
      }
      return { ...response, body: endWith(response.body, span) };
    } catch (err) {
      if (!isAbort(err)) {
        span.set({ 'error.type': err instanceof KubeletError ? err.reason : 'Error' });
        span.markFailed(describeError(err));
      }
      span.end();
      throw err;
    }
  }

  unauthorized(): void {
    this.#inner.unauthorized();
  }

  closeConnections(): void {
    this.#inner.closeConnections();
  }
}
