// The serving certificate from two files: those the configuration names, or a self-signed pair that is made when it is not
// there. Upstream: InitializeTLS in cmd/kubelet/app/server.go and NewKubeletServerCertificateDynamicFileManager.
// Owns what the secure port shows. Invariant: what cannot be used never replaces what could.
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
  /** Makes a pair for this host; undefined when the files are somebody else's. */
  readonly make: ((nowMs: number) => Promise<CertificatePair>) | undefined;
  /** Whether changes of the files are taken over. */
  readonly reload: boolean;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Timers do not notice when the wall clock steps. */
const recheckMs = 10 * 60_000;

export class ServingFiles implements ServingCertificate, Component {
  readonly name = 'serving certificate';
  readonly changed = new Channel<void>();
  readonly #deps: ServingFilesDeps;
  readonly #chance: number;
  #pair: CertificatePair | undefined;
  #renewAtMs: number | undefined;
  /** Something changed, or its time has come, since the files were last looked at. */
  #mustLook = false;
  /** Why the files cannot be used, so that it is said once. */
  #fault = '';
  #wake: () => void = () => undefined;

  constructor(deps: ServingFilesDeps) {
    this.#deps = deps;
    this.#chance = deps.random();
  }

  current(): CertificateView | undefined {
    return servingView(this.#pair);
  }

  pair(): CertificatePair | undefined {
    return this.#pair;
  }

  /** Rejects when the files that were named cannot be used: as upstream, the kubelet does not start then. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#load();
    return { stopped: this.#follow(signal) };
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, files, log, reload } = this.#deps;
    const watch = reload
      ? files.watch(
          () => this.#look(),
          (err) => log.v(2).info('Serving certificate cannot be watched, trying again', { err }),
        )
      : undefined;
    try {
      while (!signal.aborted) {
        const changed = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        const timer = clock.setTimer(this.#untilCheckMs(), () => this.#look());
        try {
          if (!this.#mustLook) await raceAbort(changed, signal);
        } catch {
          // Asked to stop, which the loop sees.
          break;
        } finally {
          timer.cancel();
        }
        this.#mustLook = false;
        await this.#reload();
      }
    } finally {
      watch?.close();
    }
  }

  /** The other file of a pair may change while the first one is read: that must not be missed. */
  #look(): void {
    this.#mustLook = true;
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
      this.#keepBefore(err);
    }
  }

  async #read(): Promise<CertificatePair> {
    const pair = await this.#deps.files.read();
    this.#fault = '';
    return pair;
  }

  #keepBefore(err: unknown): void {
    const fault = describeError(err);
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#deps.log.error('Serving certificate cannot be read, keeping the one before', { err });
  }

  async #load(): Promise<void> {
    const { clock, files, log, make } = this.#deps;
    if (make === undefined) {
      this.#keep(await this.#read());
      return;
    }
    const found = await this.#find();
    const step = computeSelfSigned(found, this.#chance, clock.now());
    if (step.do === 'use') {
      this.#renewAtMs = step.renewAtMs;
      this.#keep(found.pair);
      return;
    }
    const pair = await make(clock.now());
    await files.write(pair);
    log.info('Made a self-signed serving certificate', { why: step.why, name: pair.facts.commonName });
    const next = computeSelfSigned({ facts: pair.facts, why: '' }, this.#chance, clock.now());
    // One that is over as soon as it is made comes of a clock that jumps; it is looked at again later, not at once.
    this.#renewAtMs = next.do === 'use' ? next.renewAtMs : clock.now() + recheckMs;
    this.#keep(pair);
  }

  /**
   * What the files hold; in the middle of a life, when they cannot be read, what is shown already: somebody may be replacing
   * them, and has done one of the two.
   */
  async #find(): Promise<FoundPair & { readonly pair: CertificatePair | undefined }> {
    try {
      const pair = await this.#read();
      return { pair, facts: pair.facts, why: '' };
    } catch (err) {
      if (this.#pair !== undefined) this.#keepBefore(err);
      return { pair: this.#pair, facts: this.#pair?.facts, why: describeError(err) };
    }
  }

  #keep(pair: CertificatePair | undefined): void {
    const before = this.#pair;
    this.#pair = pair;
    if (before?.certPem === pair?.certPem && before?.key.reveal() === pair?.key.reveal()) return;
    if (before !== undefined) this.#deps.log.info('Serving certificate has changed');
    this.changed.push();
  }
}
