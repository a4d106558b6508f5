// From ended spans to the collector: sampler, resource, batch queue, OTLP over gRPC. Upstream: NewProvider of component-base/tracing.
// Invariants: never TLS; the queue is bounded, and so are a span's attributes; OTEL_* variables apply as in the SDK, except
// values that would keep the queue from working.
import { getNumberFromEnv } from '@opentelemetry/core';
import {
  convertLegacyOtlpGrpcOptions,
  createInsecureCredentials,
  createOtlpGrpcExportDelegate,
} from '@opentelemetry/otlp-grpc-exporter-base';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../../base/log/log.ts';
import { grpcTarget } from './grpc-target.ts';
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

export function spanPipeline(options: PipelineOptions): BasicTracerProvider {
  const { endpoint, hostName, log, samplingRatePerMillion } = options;
  const exporter = new ReportedExporter(otlpExporter(endpoint), log);
  return new BasicTracerProvider({
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
    spanProcessors: [new BatchSpanProcessor(exporter, queueLimits())],
  });
}

export function samplerOf(ratePerMillion = 0): Sampler {
  const root =
    ratePerMillion > 0 ? new TraceIdRatioBasedSampler(ratePerMillion / 1_000_000) : new AlwaysOffSampler();
  return new ParentBasedSampler({ root });
}

/** The SDK's defaults in place of variables that are not positive: a batch of zero spans would be exported without end. */
function queueLimits() {
  const isUsable = (name: string): boolean => (getNumberFromEnv(name) ?? 1) >= 1;
  return {
    ...(isUsable('OTEL_BSP_MAX_QUEUE_SIZE') ? {} : { maxQueueSize: 2048 }),
    ...(isUsable('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') ? {} : { maxExportBatchSize: 512 }),
    ...(isUsable('OTEL_BSP_SCHEDULE_DELAY') ? {} : { scheduledDelayMillis: 5_000 }),
    ...(isUsable('OTEL_BSP_EXPORT_TIMEOUT') ? {} : { exportTimeoutMillis: 30_000 }),
  };
}

/** What OTLPTraceExporter consists of. That class accepts http URLs and unix sockets only as its endpoint, so it is not used. */
function otlpExporter(endpoint: string | undefined): SpanExporter {
  const configured = convertLegacyOtlpGrpcOptions({ credentials: createInsecureCredentials() }, 'TRACES');
  const delegate = createOtlpGrpcExportDelegate(
    { ...configured, url: endpoint === undefined ? configured.url : grpcTarget(endpoint) },
    ProtobufTraceSerializer,
    'otlp_grpc_span_exporter',
    TraceExporterMetricsHelper,
    undefined,
    'TraceExportService',
    '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  );
  return delegate;
}
