// The authorities that vouch for clients, from authentication.x509.clientCAFile, as it is now.
// Upstream: k8s.io/apiserver/pkg/server/dynamiccertificates (DynamicFileCAContent).
// Invariant: what is no bundle of certificates never replaces one; without one the kubelet does not start.
import { X509Certificate } from 'node:crypto';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

export interface ClientAuthoritiesDeps {
  readonly path: string;
  readonly file: {
    read(path: string, signal: AbortSignal): Promise<string>;
    watch(path: string, onChange: () => void, onError: (err: unknown) => void): { close(): void };
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** Beside the file's events, as upstream looks again. */
const recheckMs = 60_000;

export class ClientAuthorities implements Component {
  readonly name = 'client authorities';
  readonly changed = new Channel<void>();
  readonly #deps: ClientAuthoritiesDeps;
  #pem = '';
  #reading: Promise<void> = Promise.resolve();

  constructor(deps: ClientAuthoritiesDeps) {
    this.#deps = deps;
  }

  pem(): string {
    return this.#pem;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#load(signal);
    return { stopped: this.#follow(signal) };
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock, file, log, path } = this.#deps;
    // One after the other, so that an older content never wins.
    const again = (): void => {
      this.#reading = this.#reading.then(() => this.#reload(signal));
    };
    const watch = file.watch(path, again, (err) =>
      log.v(2).info('Client authorities cannot be watched, trying again', { path, err }),
    );
    let timer = clock.setTimer(recheckMs, tick);
    function tick(): void {
      again();
      timer = clock.setTimer(recheckMs, tick);
    }
    await untilAborted(signal);
    watch.close();
    timer.cancel();
    await this.#reading;
  }

  async #reload(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      await this.#load(signal);
    } catch (err) {
      const { log, path } = this.#deps;
      if (!signal.aborted)
        log.error('Client authorities cannot be read, keeping those before', { path, err });
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { file, log, path } = this.#deps;
    const pem = checked(await file.read(path, signal), path);
    if (pem === this.#pem) return;
    const first = this.#pem === '';
    this.#pem = pem;
    if (first) return;
    log.info('Client authorities have changed', { path });
    this.changed.push();
  }
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of the bundle; other blocks and words between them do not count. */
function checked(text: string, path: string): string {
  const certificates = text.match(block) ?? [];
  if (certificates.length === 0)
    throw new KubeletError('invalid', 'InvalidClientCA', `${path} has no certificates in PEM`);
  try {
    return certificates.map((each) => new X509Certificate(each).toString()).join('');
  } catch (cause) {
    const message = `${path} has a certificate that cannot be read`;
    throw new KubeletError('invalid', 'InvalidClientCA', message, { cause });
  }
}
