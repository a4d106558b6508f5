// The tracer on OpenTelemetry's SDK. Owns the context of spans across awaits. Upstream: the context.Context that Go passes along.
// Invariants: a span that has ended gets no children from what still runs in its context (a timer, a connection that it opened);
// no tracing call throws. The context costs CPU on every await of the process (async_hooks), so it exists only with tracing.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type Link,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { describeError } from '../../base/errors.ts';
import type { RequestHeaders, Span, SpanAttributes, SpanStart, Tracer } from '../../base/tracer.ts';

/** What runs in a span. The context is dropped when the span ends. */
interface Scope {
  context: Context | undefined;
}

const kinds = { client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;

const outgoing = {
  set: (headers: Record<string, string>, name: string, value: string): void => {
    headers[name] = value;
  },
};

const incoming = {
  keys: (headers: RequestHeaders): string[] => Object.keys(headers),
  get: (headers: RequestHeaders, name: string): string | string[] | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : value?.slice();
  },
};

export class OtelTracer implements Tracer {
  readonly #provider: TracerProvider;
  readonly #scopes = new AsyncLocalStorage<Scope>();
  readonly #propagator: TextMapPropagator = new CompositePropagator({
    propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
  });

  constructor(provider: TracerProvider) {
    this.#provider = provider;
  }

  start({ attributes = {}, kind, name, origin, scope }: SpanStart): Span {
    const { links, parent } = this.#origin(origin);
    const options = {
      attributes,
      kind: kind === undefined ? SpanKind.INTERNAL : kinds[kind],
      links,
    };
    const span = this.#provider.getTracer(scope).startSpan(name, options, parent);
    return new RunningSpan(span, trace.setSpan(parent, span), this.#scopes);
  }

  headers(): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {};
    const context = this.#scopes.getStore()?.context;
    if (context !== undefined) this.#propagator.inject(context, headers, outgoing);
    return headers;
  }

  capture(): <T>(work: () => T) => T {
    const scope = this.#scopes.getStore() ?? { context: undefined };
    return (work) => this.#scopes.run(scope, work);
  }

  #origin(origin: SpanStart['origin']): { readonly parent: Context; readonly links: Link[] } {
    if (origin === undefined) {
      return { parent: this.#scopes.getStore()?.context ?? ROOT_CONTEXT, links: [] };
    }
    if (origin === 'new') return { parent: ROOT_CONTEXT, links: [] };
    if ('continues' in origin) return { parent: this.#extract(origin.continues), links: [] };
    const context = trace.getSpanContext(this.#extract(origin.follows));
    return { parent: ROOT_CONTEXT, links: context === undefined ? [] : [{ context }] };
  }

  #extract(headers: RequestHeaders): Context {
    return this.#propagator.extract(ROOT_CONTEXT, headers, incoming);
  }
}

class RunningSpan implements Span {
  readonly #span: OtelSpan;
  readonly #scope: Scope;
  readonly #scopes: AsyncLocalStorage<Scope>;

  constructor(span: OtelSpan, context: Context, scopes: AsyncLocalStorage<Scope>) {
    this.#span = span;
    this.#scope = { context };
    this.#scopes = scopes;
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  fail(err: unknown): void {
    const message = describeError(err);
    this.#span.recordException({ name: err instanceof Error ? err.name : 'Error', message });
    this.markFailed(message);
  }

  markFailed(message = ''): void {
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message });
  }

  run<T>(work: () => T): T {
    return this.#scopes.run(this.#scope, work);
  }

  end(): void {
    if (this.#scope.context === undefined) return;
    this.#scope.context = undefined;
    this.#span.end();
  }
}
