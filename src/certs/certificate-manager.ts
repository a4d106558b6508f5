// Manages one certificate: requests it when it is missing, rotates it when most of its lifetime is over or its template changes.
// Upstream: client-go/util/certificate/certificate_manager.go, pkg/kubelet/certificate/transport.go.
// Owns the pair in its store (sole writer). Invariants: a pair is on disk before it is announced; a usable pair is kept until
// its replacement is stored.
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
import { hasServerAnswered, requestCertificate } from './request-certificate.ts';
import { computeRotation, doubtClock, isExpired } from './rotation.ts';

export interface PairStore {
  /** Undefined when nothing is stored; rejects when the stored pair cannot be used. */
  current(): Promise<CertificatePair | undefined>;
  /** Rejects and changes nothing when key and certificate do not match. */
  update(certPem: string, key: Secret): Promise<CertificatePair>;
}

/** A key that is kept on disk until its certificate is issued. */
export interface PendingKey {
  /** The stored key, or a new one. */
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
  /** What is requested, and of which signer. */
  readonly request: {
    readonly name: string;
    readonly signerName: string;
    readonly template: () => CertificateTemplate | undefined;
    /** Announces that `template` may return something else. */
    readonly templateChanged?: Subscribable<void> | undefined;
  };
  readonly keys: {
    readonly store: PairStore;
    readonly maker: CertificateMaker;
    /** For the first certificate. */
    readonly pendingKey: PendingKey | undefined;
  };
  /** The API with this certificate's identity, or with other credentials while there is no usable certificate. */
  readonly api: (hasCertificate: boolean) => Promise<CsrApi>;
  readonly policy: {
    /** False: only the first certificate is requested. */
    readonly rotate: boolean;
    /** Without a usable certificate for this long, while the API server answers, the kubelet exits to be restarted. */
    readonly exitAfterMs: number | undefined;
  };
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long an approval may take before another request is made. */
const approvalMs = 15 * 60_000;
/** Timers do not fire early when the wall clock steps. */
const recheckMs = 10 * 60_000;
const backoffMs = [2_000, 4_000, 8_000, 16_000] as const;
const maxBackoffMs = 32_000;
const backoffJitter = 0.1;

export class CertificateManager implements Component, ServingCertificate {
  readonly wakes;
  readonly changed = new Channel<void>();
  /** Carries the age of the previous certificate in seconds; undefined when there was none. */
  readonly renewed = new Channel<number | undefined>();
  readonly failed = new Channel<void>();
  readonly #deps: CertificateManagerDeps;
  #pair: CertificatePair | undefined;
  #jitter = 0;
  #isLoaded = false;
  #mustRotate = false;
  #hasServerAnswered = false;
  #availableMs = 0;
  #failures = 0;
  #lastFailure = '';
  #wake: () => void = () => undefined;
  /** The template of the last step. */
  #lastTemplate: CertificateTemplate | undefined;
  /** Cancels the request in flight. */
  #inFlight: AbortController | undefined;

  constructor(deps: CertificateManagerDeps) {
    this.#deps = deps;
    this.#jitter = deps.random();
    const { templateChanged: changed } = deps.request;
    this.wakes = changed === undefined ? [] : [on(changed, () => this.poke())];
  }

  get name(): string {
    return `${this.#deps.request.name}-certificate`;
  }

  /** Loads the stored pair, or else `initial`. start() does so too, if this was not called before. */
  async load(initial?: CertificatePair): Promise<void> {
    const { clock, log } = this.#deps;
    const { store } = this.#deps.keys;
    this.#isLoaded = true;
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
      log.warn('Certificate has expired, requesting another one', {
        certificate: this.#deps.request.name,
        notAfter,
      });
    }
    if (initial === undefined) return;
    // The certificate of a kubeconfig may be that of an administrator, with more rights than a node needs: replace it at once.
    this.#pair = initial;
    this.#mustRotate = true;
    try {
      await store.update(initial.certPem, initial.key);
    } catch (err) {
      log.error('Failed to store the certificate of the kubeconfig', { err });
    }
  }

  /** The latest pair, even if expired: the peer decides, and its clock may differ. */
  pair(): CertificatePair | undefined {
    return this.#pair;
  }

  current(): CertificateView | undefined {
    return servingView(this.#usable());
  }

  /** Seconds until it expires, negative afterwards; Infinity without a certificate. */
  ttlSeconds(): number {
    if (this.#pair === undefined) return Number.POSITIVE_INFINITY;
    return Math.trunc((this.#pair.facts.notAfterMs - this.#deps.clock.now()) / 1000);
  }

  /** The template may have changed: cancels a request in flight for another one. */
  poke(): void {
    if (sameTemplate(this.#lastTemplate, this.#deps.request.template())) return;
    this.#inFlight?.abort(
      new KubeletError('conflict', templateChanged, 'the certificate template has changed'),
    );
    this.#wake();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    if (!this.#isLoaded) await this.load();
    return { stopped: this.#run(signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#step(signal);
      } catch (err) {
        if (isAbortOf(err, signal)) return;
        // Request the new template without backoff.
        if (isTemplateChange(err)) continue;
        this.#failed(err);
        this.#exitIfHopeless();
        await this.#pause(this.#backoffMs(), signal);
      }
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const { rotate } = this.#deps.policy;
    if (!rotate && this.#pair !== undefined) return await untilAborted(signal);
    const template = this.#deps.request.template();
    this.#lastTemplate = template;
    if (template === undefined) return await this.#pause(Number.POSITIVE_INFINITY, signal);
    const nowMs = clock.now();
    const usable = this.#usable();
    if (usable !== undefined && !this.#mustRotate) {
      const rotation = computeRotation({ facts: usable.facts, template, jitter: this.#jitter, nowMs });
      if (rotation.rotate === 'later') {
        return await this.#pause(Math.min(rotation.atMs - nowMs, recheckMs), signal);
      }
      this.#deps.log.v(2).info('Rotating certificates', { reason: rotation.reason });
    }
    await this.#renew(template, usable, signal);
  }

  async #renew(
    template: CertificateTemplate,
    usable: CertificatePair | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#deps;
    const { maker, store } = this.#deps.keys;
    const { signerName } = this.#deps.request;
    // The key and name of the first request survive restarts until the certificate is issued; a rotation uses a new key.
    const pending = usable === undefined ? this.#deps.keys.pendingKey : undefined;
    const key = await (pending ?? { take: () => maker.newKey() }).take();
    const usages = usagesOf(signerName, maker.keyKind(key));
    const abort = new AbortController();
    this.#inFlight = abort;
    try {
      const certPem = await requestCertificate(
        {
          // A certificate from before the node was renamed is not authorized to request this node's.
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
      this.#adopt(await store.update(certPem, key), usable);
      await pending?.drop();
    } catch (err) {
      // The request's outcome is final: the next attempt makes another one with a new key.
      if (err instanceof KubeletError && isFinal(err)) await pending?.drop();
      throw err;
    } finally {
      this.#inFlight = undefined;
    }
    this.renewed.push(usable && (clock.now() - usable.facts.notBeforeMs) / 1000);
    this.changed.push();
    this.#checkUsefulness();
  }

  /** Not beyond the expiry of the certificate that authenticates the request. */
  #waitMs(usable: CertificatePair | undefined): number {
    if (usable === undefined) return approvalMs;
    const leftMs = usable.facts.notAfterMs - this.#deps.clock.now() + 1_000;
    return Math.min(approvalMs, leftMs);
  }

  #adopt(pair: CertificatePair, before: CertificatePair | undefined): void {
    const { clock, log, random } = this.#deps;
    const { name } = this.#deps.request;
    this.#pair = pair;
    this.#mustRotate = false;
    this.#hasServerAnswered = true;
    this.#availableMs = clock.monotonic();
    this.#jitter = random();
    this.#lastFailure = '';
    const notAfter = new Date(pair.facts.notAfterMs).toISOString();
    const message = before === undefined ? 'Certificate was issued' : 'Certificate was rotated';
    log.info(message, { certificate: name, notAfter });
  }

  /** Throws for a new certificate that is due for rotation already, so that the next request backs off. */
  #checkUsefulness(): void {
    const { clock } = this.#deps;
    const pair = this.#pair;
    if (pair === undefined) return;
    const nowMs = clock.now();
    if (doubtClock(pair.facts, nowMs) !== undefined) this.#warnOfClock(pair);
    const rotation = computeRotation({ facts: pair.facts, template: undefined, jitter: this.#jitter, nowMs });
    if (rotation.rotate === 'later') {
      this.#failures = 0;
      return;
    }
    throw new KubeletError(
      'invalid',
      'UselessCertificate',
      `the new certificate is due for rotation already: ${rotation.reason}`,
    );
  }

  #warnOfClock({ facts }: CertificatePair): void {
    const { clock, log } = this.#deps;
    const { name } = this.#deps.request;
    const date = (ms: number): string => new Date(ms).toISOString();
    log.error('Certificate is not valid by the clock of this machine, which may be wrong', {
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
    const { log } = this.#deps;
    const { name } = this.#deps.request;
    const { store } = this.#deps.keys;
    try {
      return await store.current();
    } catch (err) {
      // differs from upstream, which fails to start when the file cannot be read.
      log.error('Failed to read the certificate, requesting another one', { certificate: name, err });
      return undefined;
    }
  }

  #failed(err: unknown): void {
    const { log } = this.#deps;
    const { name } = this.#deps.request;
    this.failed.push();
    this.#failures++;
    this.#hasServerAnswered = hasServerAnswered(err) ?? this.#hasServerAnswered;
    const text = describeError(err);
    const message = 'Failed to obtain a certificate, retrying';
    if (text === this.#lastFailure) log.v(2).info(message, { certificate: name, err });
    else log.error(message, { certificate: name, err });
    this.#lastFailure = text;
  }

  #backoffMs(): number {
    const plainMs = backoffMs[this.#failures - 1] ?? maxBackoffMs;
    return plainMs * (1 + backoffJitter * this.#deps.random());
  }

  #exitIfHopeless(): void {
    const { clock } = this.#deps;
    const { exitAfterMs } = this.#deps.policy;
    const { name } = this.#deps.request;
    const nowMs = clock.monotonic();
    if (this.#usable() !== undefined) this.#availableMs = nowMs;
    if (exitAfterMs === undefined || !this.#hasServerAnswered || nowMs - this.#availableMs <= exitAfterMs)
      return;
    throw new KubeletError(
      'forbidden',
      'NoClientCertificate',
      `no valid ${name} certificate for ${Math.round((nowMs - this.#availableMs) / 1000)} s, and the API server does not issue one`,
    );
  }

  /** Sleeps until the time is over or the template has changed. */
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

/** Denied, failed or replaced, or its name is taken by a different request. */
function isFinal({ reason }: KubeletError): boolean {
  return reason.startsWith('Certificate') || reason === 'InvalidCertificate';
}
