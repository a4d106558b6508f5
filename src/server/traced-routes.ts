// Makes every request that a route handles a server span. Rejected requests have none: the router calls a handler only once the
// client is authorized. Upstream: InstallTracingFilter in pkg/kubelet/server/server.go, with otelrestful.
import { endWith, type Span, type SpanStart, type Tracer } from '../base/tracer.ts';
import type { HttpAnswer, RoutedRequest } from './http-message.ts';
import type { Route } from './router.ts';

/** Upstream's name: spans can be selected by it. */
const scope = 'go.opentelemetry.io/contrib/instrumentation/github.com/emicklei/go-restful/otelrestful';

/** Without a tracer, the routes themselves. */
export function tracedRoutes(
  routes: readonly Route[],
  port: 'secure' | 'read-only',
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

function serverSpan(request: RoutedRequest, pattern: string, port: 'secure' | 'read-only'): SpanStart {
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
    },
    // differs from upstream: there both ports ignore the headers, so a trace of the API server ends at the kubelet. Clients of the
    // read-only port are not authenticated, so they cannot decide what is sampled.
    origin: port === 'secure' ? { continues: headers } : { follows: headers },
  };
}

async function answerIn(span: Span, handle: () => HttpAnswer | Promise<HttpAnswer>): Promise<HttpAnswer> {
  try {
    const answer = await span.run(handle);
    if ('proxyTo' in answer) {
      span.end();
      return answer;
    }
    span.set({ 'http.response.status_code': answer.status });
    if (answer.status >= 500) span.fail(new Error(`HTTP status ${answer.status}`));
    if (typeof answer.body === 'object' && Symbol.asyncIterator in answer.body)
      return { ...answer, body: endWith(answer.body, span) };
    span.end();
    return answer;
  } catch (err) {
    span.fail(err);
    span.end();
    throw err;
  }
}
