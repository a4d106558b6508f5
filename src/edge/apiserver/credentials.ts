// Who we are and whom we trust, as it is now: files are read again when they change, tokens grow old, plugins are asked anew.
// Upstream: client-go/transport (cert_rotation.go, token_source.go) and the exec authenticator.
// Invariants: a file that is missing or half written while it is replaced does not cost what was read before; the generation
// changes with the certificates, so that connections made with older ones can be told apart.
import { readFile, stat } from 'node:fs/promises';
import type { ClusterAccess, Material } from '../../api/ports/cluster-access.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { Secret } from '../../base/log/secret.ts';
import { systemRoots } from '../http-client/http-get.ts';
import { type ClusterInfo, type ExecCredential, runExecPlugin } from './exec-plugin.ts';

export interface TlsMaterial {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

interface CredentialsDeps {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often files are looked at, at most. */
const checkMs = 10_000;
/** A plugin's credential is renewed before the server would refuse it. */
const renewEarlyMs = 10_000;

export class Credentials {
  readonly #deps: CredentialsDeps;
  readonly #files = new Map<string, { readonly version: string; readonly text: string }>();
  #checkedMs = Number.NEGATIVE_INFINITY;
  #tls: TlsMaterial | undefined;
  #generation = 0;
  #exec: ExecCredential | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
  }

  /** Of the certificates; connections of an older one are to be let go. */
  get generation(): number {
    return this.#generation;
  }

  /** Looks whether anything has changed, at most every few seconds. Rejects while there is nothing to begin with. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#untilLive(signal);
    this.#refreshing ??= this.#refreshNow().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** The server did not accept us: whatever can be fetched anew is. */
  distrust(): void {
    this.#exec = undefined;
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  tls(): TlsMaterial {
    return this.#tls ?? { ca: undefined, cert: undefined, key: undefined };
  }

  /** Of every request. */
  headers(): Record<string, string | string[]> {
    const { basic, impersonate, token, tokenFile } = this.#deps.access;
    const fromFile = tokenFile === undefined ? undefined : this.#files.get(tokenFile)?.text.trim();
    const bearer = fromFile ?? token?.reveal() ?? this.#exec?.token?.reveal();
    const authorization =
      bearer === undefined
        ? basic === undefined
          ? undefined
          : `Basic ${basic.reveal()}`
        : `Bearer ${bearer}`;
    return {
      ...(authorization === undefined ? {} : { authorization }),
      ...(impersonate === undefined ? {} : { 'impersonate-user': impersonate.user }),
      ...(impersonate === undefined || impersonate.groups.length === 0
        ? {}
        : { 'impersonate-group': [...impersonate.groups] }),
    };
  }

  /** A first certificate may take until somebody approves it; whoever asks for something waits as long as it wants to. */
  async #untilLive(signal: AbortSignal): Promise<void> {
    const { live } = this.#deps.access;
    if (live === undefined) return;
    while (live.pair() === undefined) {
      let stopListening = (): void => undefined;
      const changed = new Promise<void>((resolve) => {
        stopListening = live.changed.subscribe(() => resolve());
      });
      try {
        await raceAbort(changed, signal);
      } finally {
        stopListening();
      }
    }
  }

  async #refreshNow(): Promise<void> {
    const { access, clock } = this.#deps;
    await this.#renewExec();
    if (clock.monotonic() - this.#checkedMs < checkMs) return;
    const ca = await this.#read(access.ca);
    const live = access.live?.pair();
    const cert = live?.certPem ?? (await this.#read(access.clientCertificate?.cert));
    const key = live?.key.reveal() ?? (await this.#read(access.clientCertificate?.key));
    if (access.tokenFile !== undefined) await this.#readFile(access.tokenFile);
    this.#checkedMs = clock.monotonic();
    this.#keep({
      ca: ca ?? (access.server.protocol === 'https:' ? await systemRoots() : undefined),
      cert: cert ?? this.#exec?.certificate?.cert,
      key: key === undefined ? this.#exec?.certificate?.key : new Secret(key),
    });
  }

  #keep(next: TlsMaterial): void {
    const before = this.#tls;
    this.#tls = next;
    const same =
      before?.ca === next.ca && before?.cert === next.cert && before?.key?.reveal() === next.key?.reveal();
    if (same && before !== undefined) return;
    this.#generation++;
    if (before !== undefined)
      this.#deps.log.info('Client certificate or authority has changed, connecting anew');
  }

  async #renewExec(): Promise<void> {
    const { access, clock } = this.#deps;
    if (access.exec === undefined) return;
    const { expiresAtMs } = this.#exec ?? { expiresAtMs: 0 };
    if (expiresAtMs === undefined || clock.now() < expiresAtMs - renewEarlyMs) return;
    this.#exec = await runExecPlugin(access.exec, await this.#clusterInfo());
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  async #clusterInfo(): Promise<ClusterInfo> {
    const { access } = this.#deps;
    const ca = await this.#read(access.ca);
    return {
      server: access.server.href,
      ...(access.tlsServerName === undefined ? {} : { 'tls-server-name': access.tlsServerName }),
      ...(access.insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
      ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    };
  }

  async #read(material: Material | undefined): Promise<string | undefined> {
    if (material === undefined) return undefined;
    return 'pem' in material ? material.pem.reveal() : await this.#readFile(material.file);
  }

  async #readFile(file: string): Promise<string> {
    const known = this.#files.get(file);
    try {
      const { mtimeMs, ino, size } = await stat(file);
      const version = `${mtimeMs}/${ino}/${size}`;
      if (known?.version === version) return known.text;
      const text = await readFile(file, 'utf8');
      if (text.trim() === '') throw new Error('it is empty');
      this.#files.set(file, { version, text });
      return text;
    } catch (cause) {
      if (known === undefined) {
        throw new KubeletError('unavailable', 'CredentialsMissing', `cannot read ${file}`, { cause });
      }
      this.#deps.log.warn('Credentials cannot be read, keeping what was read before', {
        file,
        err: describeError(cause),
      });
      return known.text;
    }
  }
}
