// Sends batches of spans to the collector, as OTLP over gRPC without TLS. Upstream: otlptracegrpc.
// OpenTelemetry's own OTLPTraceExporter accepts http URLs and files of sockets only, passes loopback addresses to a proxy of the
// environment, and cannot be stopped. Invariants: an export ends when the queue gives it up, at the latest, so that a collector that
// hangs holds one batch at a time; none is in flight after close().
import {
  type ChannelOptions,
  Client,
  type ClientUnaryCall,
  compressionAlgorithms,
  credentials,
  status,
} from '@grpc/grpc-js';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { convertLegacyOtlpGrpcOptions } from '@opentelemetry/otlp-grpc-exporter-base';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { grpcTarget, isLoopback } from './grpc-target.ts';

const method = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
/** After so many exports in a row without any answer, the connection is taken for dead and opened again. */
const mostSilent = 5;

type Configuration = ReturnType<typeof convertLegacyOtlpGrpcOptions>;

export class CollectorExporter implements SpanExporter {
  readonly #target: string;
  /** From the variables OTEL_EXPORTER_OTLP_*: headers, compression, timeout. */
  readonly #configuration: Configuration;
  readonly #timeoutMs: number;
  readonly #calls = new Set<ClientUnaryCall>();
  #onIdle: () => void = () => undefined;
  #client: Client | undefined;
  #silent = 0;

  /** Without an endpoint: OTEL_EXPORTER_OTLP_ENDPOINT, or localhost:4317. `mostMs`: after which the queue gives an export up. */
  constructor(endpoint: string | undefined, mostMs: number) {
    this.#configuration = convertLegacyOtlpGrpcOptions(
      { credentials: credentials.createInsecure() },
      'TRACES',
    );
    this.#target = grpcTarget(endpoint ?? this.#configuration.url);
    this.#timeoutMs = Math.min(this.#configuration.timeoutMillis, mostMs);
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    try {
      const bytes = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
      this.#send(Buffer.from(bytes), (error) =>
        done(error === null ? { code: ExportResultCode.SUCCESS } : { code: ExportResultCode.FAILED, error }),
      );
    } catch (cause) {
      const error = new Error('cannot send spans', { cause });
      done({ code: ExportResultCode.FAILED, error });
    }
  }

  /** Resolves when the collector has answered, also to exports that began before the last flush. */
  async shutdown(): Promise<void> {
    if (this.#calls.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** Cancels what is in flight. */
  close(): void {
    for (const call of this.#calls) call.cancel();
    this.#client?.close();
  }

  #send(bytes: Buffer, done: (error: Error | null) => void): void {
    const { metadata } = this.#configuration;
    this.#client ??= new Client(this.#target, credentials.createInsecure(), this.#options());
    const deadline = new Date(Date.now() + this.#timeoutMs);
    const call = this.#client.makeUnaryRequest(method, asIs, asIs, bytes, metadata(), { deadline }, (err) => {
      this.#calls.delete(call);
      this.#silent = err?.code === status.DEADLINE_EXCEEDED ? this.#silent + 1 : 0;
      if (this.#silent >= mostSilent) this.#reopen();
      done(err);
      if (this.#calls.size === 0) this.#onIdle();
    });
    this.#calls.add(call);
  }

  #reopen(): void {
    this.#silent = 0;
    this.#client?.close();
    this.#client = undefined;
  }

  #options(): ChannelOptions {
    return {
      'grpc.primary_user_agent': 'kubelet-ts',
      'grpc.enable_channelz': 0,
      ...(this.#configuration.compression === 'gzip'
        ? { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip }
        : {}),
      // As in Go, which never uses a proxy for them.
      ...(isLoopback(this.#target) ? { 'grpc.enable_http_proxy': 0 } : {}),
    };
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
