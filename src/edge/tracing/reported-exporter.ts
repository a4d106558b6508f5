// Logs when exports of spans begin to fail and when they succeed again: one line each, however many fail in between.
// Upstream logs every failed export.
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';

interface ClosableExporter extends SpanExporter {
  /** Cancels exports in flight. */
  close(): void;
}

export class ReportedExporter implements ClosableExporter {
  readonly #inner: ClosableExporter;
  readonly #log: Logger;
  /** Spans lost since exports began to fail; undefined while they succeed. */
  #lost: number | undefined;
  #closed = false;

  constructor(inner: ClosableExporter, log: Logger) {
    this.#inner = inner;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#inner.export(spans, (result) => {
      this.#report(result, spans.length);
      done(result);
    });
  }

  async shutdown(): Promise<void> {
    await this.#inner.shutdown();
  }

  /** An export that this cancels is not reported. */
  close(): void {
    this.#closed = true;
    this.#inner.close();
  }

  async forceFlush(): Promise<void> {
    await this.#inner.forceFlush?.();
  }

  #report({ code, error }: ExportResult, count: number): void {
    const lost = this.#lost;
    if (this.#closed) return;
    if (code === ExportResultCode.SUCCESS) {
      this.#lost = undefined;
      if (lost !== undefined) this.#log.info('Exporting traces again', { lostSpans: lost });
      return;
    }
    this.#lost = (lost ?? 0) + count;
    if (lost === undefined)
      this.#log.error('Failed to export traces, dropping spans until the collector accepts them', {
        err: describeError(error),
      });
  }
}
