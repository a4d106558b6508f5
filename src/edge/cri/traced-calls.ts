// Makes every CRI call a client span. Upstream: otelgrpc's stats handler on the connections of cri-client.
import { type CallOptions, rpcFailureCodes } from '../../api/cri/runtime.ts';
import { describeError, isAbort, KubeletError } from '../../base/errors.ts';
import type { Span, Tracer } from '../../base/tracer.ts';
import type { Rpc } from './rpc.ts';

export interface Calls {
  unary(rpc: Rpc, request: unknown, options?: CallOptions): Promise<unknown>;
  stream(rpc: Rpc, request: unknown, options?: CallOptions): AsyncIterable<unknown>;
}

/** Upstream's name: spans can be selected by it. */
const scope = 'go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc';
const statusCode = 'rpc.response.status_code';

/** Without a tracer, the calls themselves. `address`: the path of the runtime's socket. */
export function tracedCalls(calls: Calls, address: string, tracer: Tracer | undefined): Calls {
  if (tracer === undefined) return calls;
  const start = (rpc: Rpc): Span => {
    const name = rpc.path.slice(1);
    return tracer.start({
      scope,
      name,
      kind: 'client',
      attributes: { 'rpc.system.name': 'grpc', 'rpc.method': name, 'server.address': address },
    });
  };
  return {
    unary: async (rpc, request, options) => {
      const span = start(rpc);
      try {
        const response = await span.run(() => calls.unary(rpc, request, options));
        span.set({ [statusCode]: 'OK' });
        return response;
      } catch (err) {
        failed(span, err);
        throw err;
      } finally {
        span.end();
      }
    },
    stream: async function* (rpc, request, options) {
      const span = start(rpc);
      const messages = calls.stream(rpc, request, options)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const result = await span.run(() => messages.next());
          if (result.done === true) break;
          yield result.value;
        }
        span.set({ [statusCode]: 'OK' });
      } catch (err) {
        failed(span, err);
        throw err;
      } finally {
        span.end();
        await messages.return?.();
      }
    },
  };
}

function failed(span: Span, err: unknown): void {
  const code = isAbort(err) ? 'CANCELLED' : err instanceof KubeletError ? err.reason : 'UNKNOWN';
  const isKnown = (rpcFailureCodes as readonly string[]).includes(code);
  span.set({ [statusCode]: isKnown ? code : 'UNKNOWN' });
  span.markFailed(describeError(err));
}
