// Makes every request that a route handles a server span. Rejected requests have none: the router calls a handler only once the
// client is authorized. Upstream: InstallTracingFilter in pkg/kubelet/server/server.go, with otelrestful.
import { describeError } from '../base/errors.ts';
import { endWith, type Span, type SpanAttributes, type SpanStart, type Tracer } from '../base/tracer.ts';
import type { HttpAnswer, RoutedRequest } from './http-message.ts';
import type { Route } from './router.ts';

type Port = 'secure' | 'read-only';

/** Upstream's name: spans can be selected by it. */
const scope = 'go.opentelemetry.io/contrib/instrumentation/github.com/emicklei/go-restful/otelrestful';

/** They are not named in spans. */
const defaultPorts: Readonly<Record<Port, number>> = { secure: 443, 'read-only': 80 };

/** Without a tracer, the routes themselves. */
export function tracedRoutes(
  routes: readonly Route[],
  port: Port,
  tracer: Tracer | undefined,
): readonly Route[] {
  if (tracer === undefined) return routes;
  return routes.map(({ handle, row }) => ({
    row,
    handle: (request) => {
      const span = tracer.start(serverSpan(request, request.pattern ?? row.path, port));
      return answerIn(span, () => handle(request));
    },
  }));
}

function serverSpan(request: RoutedRequest, pattern: string, port: Port): SpanStart {
  const { headers, method, path } = request;
  return {
    scope,
    // differs from upstream: there the spans of routes without a pattern, such as /metrics, have an empty name.
    name: pattern,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      'http.route': pattern,
      'server.address': 'kubelet',
      'url.path': path,
      'url.scheme': port === 'secure' ? 'https' : 'http',
      ...clientAttributes(request, port),
    },
    // differs from upstream: there both ports ignore the headers, so a trace of the API server ends at the kubelet. Clients of the
    // read-only port are not authenticated, so they cannot decide what is sampled.
    origin: port === 'secure' ? { continues: headers } : { follows: headers },
  };
}

/** The client's own headers are not verified. */
function clientAttributes(request: RoutedRequest, port: Port): SpanAttributes {
  const { headers } = request;
  const connection = request.connection?.();
  const forwarded = textOf(headers['x-forwarded-for'])?.split(',', 1)[0];
  const userAgent = textOf(headers['user-agent']);
  const client = forwarded || connection?.remoteAddress;
  return {
    ...(client !== undefined && { 'client.address': client }),
    ...(userAgent !== undefined && { 'user_agent.original': userAgent }),
    ...(connection !== undefined && {
      'network.peer.address': connection.remoteAddress,
      'network.peer.port': connection.remotePort,
      'network.protocol.version': connection.httpVersion,
      ...(connection.localPort !== defaultPorts[port] && { 'server.port': connection.localPort }),
    }),
  };
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}

async function answerIn(span: Span, handle: () => HttpAnswer | Promise<HttpAnswer>): Promise<HttpAnswer> {
  try {
    const answer = await span.run(handle);
    if ('proxyTo' in answer) {
      span.end();
      return answer;
    }
    span.set({ 'http.response.status_code': answer.status });
    if (answer.status >= 500) span.markFailed();
    if (typeof answer.body === 'object' && Symbol.asyncIterator in answer.body)
      return { ...answer, body: endWith(answer.body, span) };
    span.end();
    return answer;
  } catch (err) {
    span.markFailed(describeError(err));
    span.end();
    throw err;
  }
}
