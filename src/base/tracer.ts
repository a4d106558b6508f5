// The port for traces: components start spans on it, and clients take from it the headers that continue the trace in another
// process. edge/tracing implements it with OpenTelemetry. A component without a tracer does not trace and pays nothing.
// Upstream: the TracerProvider that the kubelet hands to its components.
import { describeError, isAbort } from './errors.ts';

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface SpanStart {
  /** The instrumentation scope. The names of scopes and spans are upstream's. */
  readonly scope: string;
  readonly name: string;
  /** Default: internal. */
  readonly kind?: 'client' | 'server';
  readonly attributes?: SpanAttributes;
  /**
   * Where the trace comes from. Default: the span in whose run() the code executes, or a new trace. `continues`: the trace in the
   * headers of a request. `follows`: a new trace with a link to it, for a client that is not trusted. `new`: a new trace.
   */
  readonly origin?: 'new' | { readonly continues: RequestHeaders } | { readonly follows: RequestHeaders };
}

export interface Span {
  set(attributes: SpanAttributes): void;
  /** Records an error and sets the span's status to it. */
  fail(err: unknown): void;
  /** Sets the span's status to an error only, as spans of calls and requests do. */
  markFailed(message?: string): void;
  /** Runs `work` with this span as the parent of the spans that it starts, also after its awaits, until this span ends. */
  run<T>(work: () => T): T;
  /** No effect after the first call. */
  end(): void;
}

export interface Tracer {
  start(start: SpanStart): Span;
  /** traceparent, tracestate and baggage for a request to another process; empty outside a span. */
  headers(): Readonly<Record<string, string>>;
  /** Returns a function that runs other work under the span that is the parent now. */
  capture(): <T>(work: () => T) => T;
}

/** Runs `work` in a span that ends with it. An abort is not an error of the span. `work` gets the span, if there is a tracer. */
export async function inSpan<T>(
  tracer: Tracer | undefined,
  start: SpanStart,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  if (tracer === undefined) return await work();
  const span = tracer.start(start);
  try {
    return await span.run(() => work(span));
  } catch (err) {
    if (!isAbort(err)) span.fail(err);
    throw err;
  } finally {
    span.end();
  }
}

/** The same items. The span ends after the last one, with an error of the source, or when the reader leaves. */
export function endWith<T>(items: AsyncIterable<T>, span: Span): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const source = span.run(() => items[Symbol.asyncIterator]());
      return {
        next: async () => {
          try {
            const result = await span.run(() => source.next());
            if (result.done === true) span.end();
            return result;
          } catch (err) {
            if (!isAbort(err)) span.markFailed(describeError(err));
            span.end();
            throw err;
          }
        },
        return: async () => {
          span.end();
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
