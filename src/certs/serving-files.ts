// Serves the certificate of two files: those the configuration names, or a self-signed pair that is created when it is missing.
// Upstream: InitializeTLS in cmd/kubelet/app/server.go and NewKubeletServerCertificateDynamicFileManager.
// Owns the serving certificate. Invariant: files that cannot be used never replace a usable pair.
import type { CertificatePair, ServingCertificate } from '../api/ports/certificates.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { type CertificateView, servingView } from './current-certificate.ts';
import { computeSelfSigned, type FoundPair } from './self-signed.ts';

export interface ServingPairFiles {
  /** Rejects when a file is missing or the two do not make a pair. */
  read(): Promise<CertificatePair>;
  write(pair: CertificatePair): Promise<void>;
  watch(onChange: () => void, onError: (err: unknown) => void): { close(): void };
}

interface ServingFilesDeps {
  readonly files: ServingPairFiles;
  /** Creates a pair for this host; undefined when the files are configured and not the kubelet's own. */
  readonly create: ((nowMs: number) => Promise<CertificatePair>) | undefined;
  /** Whether changes of the files are picked up. */
  readonly reload: boolean;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Timers do not fire early when the wall clock steps. */
const recheckMs = 10 * 60_000;

export class ServingFiles implements ServingCertificate, Component {
  readonly name = 'serving-certificate';
  readonly changed = new Channel<void>();
  readonly #deps: ServingFilesDeps;
  readonly #jitter: number;
  #pair: CertificatePair | undefined;
  #renewAtMs: number | undefined;
  /** The files changed, or a renewal became due, since the last read. */
  #isDirty = false;
  /** The last failure to read the files, which is logged once. */
  #lastFailure = '';
  #wake: () => void = () => undefined;

  constructor(deps: ServingFilesDeps) {
    this.#deps = deps;
    this.#jitter = deps.random();
  }

  current(): CertificateView | undefined {
    return servingView(this.#pair);
  }

  pair(): CertificatePair | undefined {
    return this.#pair;
  }

  /** Rejects when configured files cannot be used; as upstream, the kubelet then fails to start. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#load();
    return { stopped: this.#follow(signal) };
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, files, log, reload } = this.#deps;
    const watch = reload
      ? files.watch(
          () => this.#markDirty(),
          (err) => log.v(2).info('Failed to watch the serving certificate, retrying', { err }),
        )
      : undefined;
    try {
      while (!signal.aborted) {
        const changed = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        const timer = clock.setTimer(this.#untilCheckMs(), () => this.#markDirty());
        try {
          if (!this.#isDirty) await raceAbort(changed, signal);
        } catch {
          // Stopped.
          break;
        } finally {
          timer.cancel();
        }
        this.#isDirty = false;
        await this.#reload();
      }
    } finally {
      watch?.close();
    }
  }

  /** A flag, not only a wake-up: the second file of the pair may change while the first is read. */
  #markDirty(): void {
    this.#isDirty = true;
    this.#wake();
  }

  #untilCheckMs(): number {
    if (this.#renewAtMs === undefined) return Number.POSITIVE_INFINITY;
    return Math.min(recheckMs, Math.max(0, this.#renewAtMs - this.#deps.clock.now()));
  }

  async #reload(): Promise<void> {
    try {
      await this.#load();
    } catch (err) {
      this.#keepCurrent(err);
    }
  }

  async #read(): Promise<CertificatePair> {
    const pair = await this.#deps.files.read();
    this.#lastFailure = '';
    return pair;
  }

  #keepCurrent(err: unknown): void {
    const failure = describeError(err);
    if (failure === this.#lastFailure) return;
    this.#lastFailure = failure;
    this.#deps.log.error('Failed to read the serving certificate, keeping the current one', { err });
  }

  async #load(): Promise<void> {
    const { clock, create, files, log } = this.#deps;
    if (create === undefined) {
      this.#adopt(await this.#read());
      return;
    }
    const found = await this.#find();
    const step = computeSelfSigned(found, this.#jitter, clock.now());
    if (step.do === 'use') {
      this.#renewAtMs = step.renewAtMs;
      this.#adopt(found.pair);
      return;
    }
    const pair = await create(clock.now());
    await files.write(pair);
    log.info('Created a self-signed serving certificate', {
      reason: step.reason,
      name: pair.facts.commonName,
    });
    const next = computeSelfSigned({ facts: pair.facts, problem: '' }, this.#jitter, clock.now());
    // A pair that is due for renewal at once results from a clock step; check again later instead of looping.
    this.#renewAtMs = next.do === 'use' ? next.renewAtMs : clock.now() + recheckMs;
    this.#adopt(pair);
  }

  /**
   * The pair in the files, or the current pair when they cannot be read: another process may be replacing them and have
   * written only one of the two.
   */
  async #find(): Promise<FoundPair & { readonly pair: CertificatePair | undefined }> {
    try {
      const pair = await this.#read();
      return { pair, facts: pair.facts, problem: '' };
    } catch (err) {
      if (this.#pair !== undefined) this.#keepCurrent(err);
      return { pair: this.#pair, facts: this.#pair?.facts, problem: describeError(err) };
    }
  }

  #adopt(pair: CertificatePair | undefined): void {
    const before = this.#pair;
    this.#pair = pair;
    if (before?.certPem === pair?.certPem && before?.key.reveal() === pair?.key.reveal()) return;
    if (before !== undefined) this.#deps.log.info('Serving certificate changed');
    this.changed.push();
  }
}
