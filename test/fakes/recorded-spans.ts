// The real tracer with its ended spans in memory. Every trace is sampled unless its caller's is not.
import type { Attributes } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { OtelTracer } from '../../src/edge/tracing/otel-tracer.ts';

interface RecordedSpan {
  readonly name: string;
  readonly scope: string;
  readonly attributes: Attributes;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the first span of a trace. */
  readonly parentId: string | undefined;
  /** The traces that it links to. */
  readonly links: readonly string[];
  /** The message of its error status. */
  readonly error: string | undefined;
  /** The names of its events: `exception` for a recorded error. */
  readonly events: readonly string[];
}

export class RecordedSpans {
  readonly tracer: OtelTracer;
  readonly #exporter = new InMemorySpanExporter();

  constructor() {
    this.tracer = new OtelTracer(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] }),
    );
  }

  /** In the order in which they ended. */
  ended(): readonly RecordedSpan[] {
    return this.#exporter.getFinishedSpans().map(recorded);
  }

  names(): readonly string[] {
    return this.ended().map(({ name }) => name);
  }

  named(name: string): RecordedSpan {
    const found = this.ended().find((span) => span.name === name);
    if (found === undefined) throw new Error(`no span ${name} among ${this.names().join(', ')}`);
    return found;
  }
}

function recorded(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    scope: span.instrumentationScope.name,
    attributes: span.attributes,
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId,
    links: span.links.map(({ context }) => context.traceId),
    error: span.status.code === 2 ? (span.status.message ?? '') : undefined,
    events: span.events.map(({ name }) => name),
  };
}
