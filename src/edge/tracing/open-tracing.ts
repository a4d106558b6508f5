// Opens the export of traces if the configuration has it. Upstream: newTracerProvider in cmd/kubelet/app/server.go.
// Invariant: without tracing neither OpenTelemetry nor gRPC's library is loaded.
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { Tracer } from '../../base/tracer.ts';

interface TracingOptions {
  /** `tracing` of the configuration; undefined disables tracing. */
  readonly tracing:
    | { readonly endpoint?: string | undefined; readonly samplingRatePerMillion?: number | undefined }
    | undefined;
  readonly hostName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OpenTracing {
  readonly tracer: Tracer;
  /** Exports what is queued, within a short deadline. Never rejects. */
  readonly close: () => Promise<void>;
}

/** By then a collector on this node or near it has accepted the last batches. */
const flushMs = 2_000;

/** Resolves with undefined if tracing is not configured, or if a variable of the environment makes it impossible. */
export async function openTracing(options: TracingOptions): Promise<OpenTracing | undefined> {
  const { clock, hostName, log, tracing } = options;
  if (tracing === undefined) return undefined;
  const [{ OtelTracer }, { spanPipeline }] = await Promise.all([
    import('./otel-tracer.ts'),
    import('./span-pipeline.ts'),
  ]);
  const { endpoint, samplingRatePerMillion } = tracing;
  const pipeline = openOrReport(log, () => spanPipeline({ endpoint, samplingRatePerMillion, hostName, log }));
  if (pipeline === undefined) return undefined;
  return {
    tracer: new OtelTracer(pipeline.provider),
    close: async () => {
      // differs from upstream: there the spans of the last seconds are lost at every restart.
      const what = 'export the last traces';
      await withDeadline({ clock, ms: flushMs, what }, () => pipeline.flush()).catch((err: unknown) => {
        // Any other failure was reported when it began.
        if (isKind(err, 'timeout')) log.info('Stopped before the last traces were exported', { err });
      });
      pipeline.close();
    },
  };
}

/** The SDK throws on some invalid values of OTEL_* variables, such as headers that HTTP does not allow. */
function openOrReport<T>(log: Logger, open: () => T): T | undefined {
  try {
    return open();
  } catch (err) {
    log.error('Failed to set up tracing, running without traces', { err });
    return undefined;
  }
}
