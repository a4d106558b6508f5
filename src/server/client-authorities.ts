// The certificate authorities for clients, from authentication.x509.clientCAFile, reloaded when the file changes.
// Upstream: k8s.io/apiserver/pkg/server/dynamiccertificates (DynamicFileCAContent, DynamicServingCertificateController).
// Invariant: an invalid file never replaces a valid bundle; without a valid bundle the kubelet does not start.
import { X509Certificate } from 'node:crypto';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

export interface ClientAuthoritiesDeps {
  readonly path: string;
  /**
   * The gate ReloadKubeletClientCAFile. differs from upstream: without it, the file of the start also verifies clients;
   * there only the issuers that the handshake names stay as they were.
   */
  readonly reload: boolean;
  readonly file: {
    read(path: string, signal: AbortSignal): Promise<string>;
    watch(path: string, onChange: () => void, onError: (err: unknown) => void): { close(): void };
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** In addition to file events, as upstream. */
const recheckMs = 60_000;

export class ClientAuthorities implements Component {
  readonly name = 'client-authorities';
  readonly changed = new Channel<void>();
  readonly #deps: ClientAuthoritiesDeps;
  #pem = '';
  /** The last failure to read the file, which is logged once. */
  #lastFailure = '';
  #loading: Promise<void> = Promise.resolve();

  constructor(deps: ClientAuthoritiesDeps) {
    this.#deps = deps;
  }

  pem(): string {
    return this.#pem;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#load(signal);
    return { stopped: this.#deps.reload ? this.#watch(signal) : untilAborted(signal) };
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, file, log, path } = this.#deps;
    // Serialized, so that older content never replaces newer.
    const reload = (): void => {
      this.#loading = this.#loading.then(() => this.#reload(signal));
    };
    const watch = file.watch(path, reload, (err) =>
      log.v(2).info('Failed to watch client CA file, retrying', { path, err }),
    );
    let timer = clock.setTimer(recheckMs, tick);
    function tick(): void {
      reload();
      timer = clock.setTimer(recheckMs, tick);
    }
    await untilAborted(signal);
    watch.close();
    timer.cancel();
    await this.#loading;
  }

  async #reload(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      await this.#load(signal);
      this.#lastFailure = '';
    } catch (err) {
      if (!signal.aborted) this.#keepPrevious(err);
    }
  }

  #keepPrevious(err: unknown): void {
    const { log, path } = this.#deps;
    const failure = describeError(err);
    if (failure === this.#lastFailure) return;
    this.#lastFailure = failure;
    log.error('Failed to read client CA file, keeping the previous authorities', { path, err });
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { file, log, path } = this.#deps;
    const pem = checked(await file.read(path, signal), path);
    if (pem === this.#pem) return;
    const first = this.#pem === '';
    this.#pem = pem;
    if (first) return;
    log.info('Reloaded client CA file', { path });
    this.changed.push();
  }
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of the bundle, without other blocks and text between them. */
function checked(text: string, path: string): string {
  const certificates = text.match(block) ?? [];
  if (certificates.length === 0)
    throw new KubeletError('invalid', 'InvalidClientCA', `${path} has no certificates in PEM`);
  try {
    return certificates.map((each) => new X509Certificate(each).toString()).join('');
  } catch (cause) {
    const message = `${path} has an invalid certificate`;
    throw new KubeletError('invalid', 'InvalidClientCA', message, { cause });
  }
}
