// From ended spans to the collector: sampler, resource, batch queue, exporter. Upstream: NewProvider of component-base/tracing.
// Invariants: never TLS; the queue is bounded, and so are a span's attributes; OTEL_* variables apply as in the SDK, except
// values that would keep the queue from working.
import { getNumberFromEnv } from '@opentelemetry/core';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../../base/log/log.ts';
import { CollectorExporter } from './collector-exporter.ts';
import { ReportedExporter } from './reported-exporter.ts';

export interface PipelineOptions {
  /** Undefined: OTEL_EXPORTER_OTLP_ENDPOINT, or localhost:4317. */
  readonly endpoint: string | undefined;
  /** Undefined or 0: only traces that a sampled caller began. */
  readonly samplingRatePerMillion: number | undefined;
  readonly hostName: string;
  readonly log: Logger;
}

/** Default limit of an attribute's length: a client may request a long path. */
const mostAttributeChars = 4096;

interface SpanPipeline {
  readonly provider: BasicTracerProvider;
  /** Exports what is queued, and resolves when nothing is in flight. No span is accepted afterwards. */
  readonly flush: () => Promise<void>;
  /** Drops what is in flight. */
  readonly close: () => void;
}

export function spanPipeline(options: PipelineOptions): SpanPipeline {
  const { endpoint, hostName, log, samplingRatePerMillion } = options;
  const limits = queueLimits();
  const exporter = new ReportedExporter(new CollectorExporter(endpoint, limits.exportTimeoutMillis), log);
  const queue = new BatchSpanProcessor(exporter, limits);
  const provider = new BasicTracerProvider({
    sampler: samplerOf(samplingRatePerMillion),
    // As upstream, OTEL_RESOURCE_ATTRIBUTES adds attributes but does not replace these.
    resource: detectResources({ detectors: [envDetector] }).merge(
      resourceFromAttributes({ 'service.name': 'kubelet', 'host.name': hostName }),
    ),
    spanLimits: {
      attributeValueLengthLimit:
        getNumberFromEnv('OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT') ??
        getNumberFromEnv('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT') ??
        mostAttributeChars,
    },
    spanProcessors: [queue],
  });
  return { provider, flush: () => queue.shutdown(), close: () => exporter.close() };
}

export function samplerOf(ratePerMillion = 0): Sampler {
  const root =
    ratePerMillion > 0 ? new TraceIdRatioBasedSampler(ratePerMillion / 1_000_000) : new AlwaysOffSampler();
  return new ParentBasedSampler({ root });
}

/** The SDK's defaults in place of variables that are not positive: a batch of zero spans would be exported without end. */
function queueLimits() {
  const positive = (name: string, usual: number): number => {
    const value = getNumberFromEnv(name) ?? usual;
    return value >= 1 ? value : usual;
  };
  return {
    maxQueueSize: positive('OTEL_BSP_MAX_QUEUE_SIZE', 2048),
    maxExportBatchSize: positive('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    scheduledDelayMillis: positive('OTEL_BSP_SCHEDULE_DELAY', 5_000),
    exportTimeoutMillis: positive('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
  };
}
