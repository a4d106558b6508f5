// Keeps one certificate: asks for it when there is none, replaces it when most of its life is over or when it should say
// something else. Upstream: client-go/util/certificate/certificate_manager.go, pkg/kubelet/certificate/transport.go.
// Owns the pair in its store (sole writer). Invariants: the pair is on the disk before anybody is told of it; a pair that works
// is kept until the next one is there.
import type { CertificatePair, CertificateTemplate, ServingCertificate } from '../api/ports/certificates.ts';
import { raceAbort, untilAborted } from '../base/abort/race-abort.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';
import { describeError, isAbortOf, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { Secret } from '../base/log/secret.ts';
import { requestName, sameTemplate, usagesOf } from './certificate-request.ts';
import type { CsrApi } from './csr-api.ts';
import { type CertificateView, servingView } from './current-certificate.ts';
import { answersHealthily, askForCertificate } from './request-certificate.ts';
import { computeRotation, doubtClock, isExpired } from './rotation.ts';

export interface PairStore {
  /** Undefined when there is none; rejects when what is there cannot be used. */
  current(): Promise<CertificatePair | undefined>;
  /** Rejects, and changes nothing, when the two do not belong together. */
  update(certPem: string, key: Secret): Promise<CertificatePair>;
}

/** A key that is kept on disk until its certificate is there. */
export interface PendingKey {
  /** The one that is there, or a new one. */
  take(): Promise<Secret>;
  drop(): Promise<void>;
}

export interface CertificateMaker {
  newKey(): Promise<Secret>;
  keyKind(key: Secret): 'ec' | 'rsa';
  request(key: Secret, template: CertificateTemplate): string;
  /** SubjectPublicKeyInfo. */
  publicKeyDer(key: Secret): Uint8Array;
}

export interface CertificateManagerDeps {
  readonly name: string;
  readonly signerName: string;
  readonly template: () => CertificateTemplate | undefined;
  /** Announces that `template` may return something else. */
  readonly templateChanged?: Subscribable<void> | undefined;
  readonly store: PairStore;
  readonly maker: CertificateMaker;
  /** For a first certificate. */
  readonly pendingKey: PendingKey | undefined;
  /** Whom to ask, given that there is a certificate to ask with or not. */
  readonly api: (hasCertificate: boolean) => Promise<CsrApi>;
  /** False: only a first certificate is asked for. */
  readonly rotate: boolean;
  /** So long without a certificate, while the server refuses us: then the kubelet ends, so that a next one begins anew. */
  readonly exitAfterMs: number | undefined;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long an approval may take before the request is made anew. */
const approvalMs = 15 * 60_000;
/** Timers do not notice when the wall clock steps. */
const recheckMs = 10 * 60_000;
const delaysMs = [2_000, 4_000, 8_000, 16_000] as const;
const longestDelayMs = 32_000;
const delayJitter = 0.1;

export class CertificateManager implements Component, ServingCertificate {
  readonly wakes;
  readonly changed = new Channel<void>();
  /** With the life of the one before, in seconds; undefined when there was none. */
  readonly renewed = new Channel<number | undefined>();
  readonly failed = new Channel<void>();
  readonly #deps: CertificateManagerDeps;
  #pair: CertificatePair | undefined;
  #chance = 0;
  #loaded = false;
  #mustRotate = false;
  #serverAnswers = false;
  #availableMs = 0;
  #failures = 0;
  #lastFailure = '';
  #wake: () => void = () => undefined;
  /** What was last thought of asking for. */
  #wanted: CertificateTemplate | undefined;
  /** What is being asked for now. */
  #asking: AbortController | undefined;

  constructor(deps: CertificateManagerDeps) {
    this.#deps = deps;
    this.#chance = deps.random();
    this.wakes = deps.templateChanged === undefined ? [] : [on(deps.templateChanged, () => this.poke())];
  }

  get name(): string {
    return `${this.#deps.name} certificate`;
  }

  /** Takes what the last life left, or what is given where that left nothing. Whoever needs it early calls this early. */
  async load(initial?: CertificatePair): Promise<void> {
    const { clock, log, store } = this.#deps;
    this.#loaded = true;
    this.#availableMs = clock.monotonic();
    const found = await this.#stored();
    if (found !== undefined && !isExpired(found.facts, clock.now())) {
      if (doubtClock(found.facts, clock.now()) === 'not-yet-valid') this.#warnOfClock(found);
      this.#pair = found;
      this.changed.push();
      return;
    }
    if (found !== undefined) {
      const notAfter = new Date(found.facts.notAfterMs).toISOString();
      log.warn('Certificate has expired, asking for another one', { certificate: this.#deps.name, notAfter });
    }
    if (initial === undefined) return;
    // What a kubeconfig holds may be another's, with more rights than a node needs: it is replaced as soon as possible.
    this.#pair = initial;
    this.#mustRotate = true;
    try {
      await store.update(initial.certPem, initial.key);
    } catch (err) {
      log.error('Certificate of the kubeconfig cannot be kept', { err });
    }
  }

  /** The latest there is, expired or not: that is for the other side to say, whose clock may be another. */
  pair(): CertificatePair | undefined {
    return this.#pair;
  }

  current(): CertificateView | undefined {
    return servingView(this.#usable());
  }

  /** Seconds until it ends, negative when it has; Infinity without one. */
  ttlSeconds(): number {
    if (this.#pair === undefined) return Number.POSITIVE_INFINITY;
    return Math.trunc((this.#pair.facts.notAfterMs - this.#deps.clock.now()) / 1000);
  }

  /** What should be asked for may have changed. */
  poke(): void {
    if (sameTemplate(this.#wanted, this.#deps.template())) return;
    this.#asking?.abort(
      new KubeletError('conflict', templateChanged, 'another certificate is needed by now'),
    );
    this.#wake();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    if (!this.#loaded) await this.load();
    return { stopped: this.#run(signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#step(signal);
      } catch (err) {
        if (isAbortOf(err, signal)) return;
        // What is asked for by now is asked for at once.
        if (isTemplateChange(err)) continue;
        this.#failed(err);
        this.#exitWhenHopeless();
        await this.#pause(this.#delayMs(), signal);
      }
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { clock, rotate } = this.#deps;
    if (!rotate && this.#pair !== undefined) return await untilAborted(signal);
    const template = this.#deps.template();
    this.#wanted = template;
    if (template === undefined) return await this.#pause(Number.POSITIVE_INFINITY, signal);
    const nowMs = clock.now();
    const usable = this.#usable();
    if (usable !== undefined && !this.#mustRotate) {
      const rotation = computeRotation({ facts: usable.facts, template, chance: this.#chance, nowMs });
      if (rotation.rotate === 'later') {
        return await this.#pause(Math.min(rotation.atMs - nowMs, recheckMs), signal);
      }
      this.#deps.log.v(2).info('Rotating certificates', { why: rotation.why });
    }
    await this.#renew(template, usable, signal);
  }

  async #renew(
    template: CertificateTemplate,
    usable: CertificatePair | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, maker, signerName, store } = this.#deps;
    // A first one's key and name are the same in every life until it is there; later ones are new each time.
    const pending = usable === undefined ? this.#deps.pendingKey : undefined;
    const key = await (pending ?? { take: () => maker.newKey() }).take();
    const usages = usagesOf(signerName, maker.keyKind(key));
    const abort = new AbortController();
    this.#asking = abort;
    try {
      const certPem = await askForCertificate(
        {
          // Another node's certificate, from before this one was renamed, cannot ask for this node's.
          api: await this.#deps.api(usable?.facts.commonName === template.commonName),
          request: maker.request(key, template),
          name: pending && requestName(maker.publicKeyDer(key), template, usages),
          signerName,
          usages,
          waitMs: this.#waitMs(usable),
          clock,
          log: this.#deps.log,
        },
        AbortSignal.any([signal, abort.signal]),
      );
      this.#keep(await store.update(certPem, key), usable);
      await pending?.drop();
    } catch (err) {
      // Its answer will not change: the next try asks anew, with another key.
      if (err instanceof KubeletError && isFinal(err)) await pending?.drop();
      throw err;
    } finally {
      this.#asking = undefined;
    }
    this.renewed.push(usable && (clock.now() - usable.facts.notBeforeMs) / 1000);
    this.changed.push();
    this.#checkGain();
  }

  /** No longer than the certificate with which it is asked can be used. */
  #waitMs(usable: CertificatePair | undefined): number {
    if (usable === undefined) return approvalMs;
    const leftMs = usable.facts.notAfterMs - this.#deps.clock.now() + 1_000;
    return Math.min(approvalMs, leftMs);
  }

  #keep(pair: CertificatePair, before: CertificatePair | undefined): void {
    const { clock, log, name, random } = this.#deps;
    this.#pair = pair;
    this.#mustRotate = false;
    this.#serverAnswers = true;
    this.#availableMs = clock.monotonic();
    this.#chance = random();
    this.#lastFailure = '';
    const notAfter = new Date(pair.facts.notAfterMs).toISOString();
    const message = before === undefined ? 'Certificate was issued' : 'Certificate was rotated';
    log.info(message, { certificate: name, notAfter });
  }

  /** A new certificate that would have to be replaced at once would be asked for again and again without a pause. */
  #checkGain(): void {
    const { clock } = this.#deps;
    const pair = this.#pair;
    if (pair === undefined) return;
    const nowMs = clock.now();
    if (doubtClock(pair.facts, nowMs) !== undefined) this.#warnOfClock(pair);
    const rotation = computeRotation({ facts: pair.facts, template: undefined, chance: this.#chance, nowMs });
    if (rotation.rotate === 'later') {
      this.#failures = 0;
      return;
    }
    throw new KubeletError(
      'invalid',
      'UselessCertificate',
      `the new certificate is to be replaced already: ${rotation.why}`,
    );
  }

  #warnOfClock({ facts }: CertificatePair): void {
    const { clock, log, name } = this.#deps;
    const date = (ms: number): string => new Date(ms).toISOString();
    log.error("Certificate is not valid by this machine's clock: is the clock right?", {
      certificate: name,
      now: date(clock.now()),
      notBefore: date(facts.notBeforeMs),
      notAfter: date(facts.notAfterMs),
    });
  }

  #usable(): CertificatePair | undefined {
    const { clock } = this.#deps;
    return this.#pair === undefined || isExpired(this.#pair.facts, clock.now()) ? undefined : this.#pair;
  }

  async #stored(): Promise<CertificatePair | undefined> {
    const { log, name, store } = this.#deps;
    try {
      return await store.current();
    } catch (err) {
      // differs from upstream, which does not start with a file that it cannot read.
      log.error('Certificate cannot be read, asking for another one', { certificate: name, err });
      return undefined;
    }
  }

  #failed(err: unknown): void {
    const { log, name } = this.#deps;
    this.failed.push();
    this.#failures++;
    this.#serverAnswers = answersHealthily(err) ?? this.#serverAnswers;
    const text = describeError(err);
    const message = 'No certificate was issued, trying again';
    if (text === this.#lastFailure) log.v(2).info(message, { certificate: name, err });
    else log.error(message, { certificate: name, err });
    this.#lastFailure = text;
  }

  #delayMs(): number {
    const plainMs = delaysMs[this.#failures - 1] ?? longestDelayMs;
    return plainMs * (1 + delayJitter * this.#deps.random());
  }

  #exitWhenHopeless(): void {
    const { clock, exitAfterMs, name } = this.#deps;
    const nowMs = clock.monotonic();
    if (this.#usable() !== undefined) this.#availableMs = nowMs;
    if (exitAfterMs === undefined || !this.#serverAnswers || nowMs - this.#availableMs <= exitAfterMs) return;
    throw new KubeletError(
      'forbidden',
      'NoClientCertificate',
      `no valid ${name} certificate for ${Math.round((nowMs - this.#availableMs) / 1000)} s, and the API server refuses to issue one`,
    );
  }

  /** Until the time is over, or what is to be asked for has changed. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const timer = this.#deps.clock.setTimer(ms, () => this.#wake());
    try {
      await raceAbort(woken, signal);
    } catch (err) {
      if (!isAbortOf(err, signal)) throw err;
    } finally {
      timer.cancel();
    }
  }
}

const templateChanged = 'TemplateChanged';

function isTemplateChange(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === templateChanged;
}

/** Denied, failed, replaced, or a name that is somebody else's. */
function isFinal({ reason }: KubeletError): boolean {
  return reason.startsWith('Certificate') || reason === 'InvalidCertificate';
}
