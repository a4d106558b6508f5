// The current client credentials and CA of a kubeconfig: reloads files when they change, renews expired tokens and
// exec credentials. Upstream: client-go/transport (cert_rotation.go, token_source.go) and the exec authenticator.
// Invariants: a file that is missing or half written while it is replaced leaves the last good content in use; the
// generation changes with the certificates, so that connections made with older ones can be retired.
import { readFile, stat } from 'node:fs/promises';
import type { ClusterAccess, Material } from '../../api/ports/cluster-access.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { Secret } from '../../base/log/secret.ts';
import { systemRoots } from '../http-client/http-get.ts';
import { AuthorityFile, type AuthorityReloads } from './authority-file.ts';
import { type ClusterInfo, type ExecCredential, runExecPlugin } from './exec-plugin.ts';

export interface TlsMaterial {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

interface CredentialsDeps {
  readonly access: ClusterAccess;
  /** Reloads of the CA from its file. */
  readonly authority: AuthorityReloads;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Shortest time between two checks of the files. differs from upstream: the CA is reread after five minutes there, by when
 * the node controller has marked a node of the new CA as lost.
 */
const checkMs = 10_000;
/** Margin by which an exec credential is renewed before it expires. */
const renewEarlyMs = 10_000;

export class Credentials {
  readonly #deps: CredentialsDeps;
  readonly #files = new Map<string, { readonly version: string; readonly text: string }>();
  /** Undefined if the CA is in the kubeconfig itself, or there is none. */
  readonly #authority: AuthorityFile | undefined;
  /** Files that could not be read at the last check; each is logged once. */
  readonly #unreadable = new Set<string>();
  #checkedMs = Number.NEGATIVE_INFINITY;
  #tls: TlsMaterial | undefined;
  #generation = 0;
  #exec: ExecCredential | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
    const { access, authority, log } = deps;
    if (access.ca !== undefined && 'file' in access.ca)
      this.#authority = new AuthorityFile({ file: access.ca.file, reloads: authority, log });
  }

  /** Counts changes of the certificates; connections of an older generation must be retired. */
  get generation(): number {
    return this.#generation;
  }

  /** Reloads what has changed, at most every 10 s. Rejects while no credentials could be read at all. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#waitForPair(signal);
    this.#refreshing ??= this.#refreshNow().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /** Forces the next refresh() to reload everything, for when the server answered 401. */
  invalidate(): void {
    this.#exec = undefined;
    this.#checkedMs = Number.NEGATIVE_INFINITY;
  }

  tls(): TlsMaterial {
    return this.#tls ?? { ca: undefined, cert: undefined, key: undefined };
  }

  /** Authentication and impersonation headers of every request. */
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

  /** Waits for the first client certificate, which may need an approval; bounded by the caller's signal. */
  async #waitForPair(signal: AbortSignal): Promise<void> {
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
    const ca = await this.#readAuthority();
    const live = access.live?.pair();
    const cert = live?.certPem ?? (await this.#read(access.clientCertificate?.cert));
    const key = live?.key.reveal() ?? (await this.#read(access.clientCertificate?.key));
    if (access.tokenFile !== undefined) await this.#readFile(access.tokenFile);
    this.#checkedMs = clock.monotonic();
    this.#setTls({
      ca: ca ?? (access.server.protocol === 'https:' ? await systemRoots() : undefined),
      cert: cert ?? this.#exec?.certificate?.cert,
      key: key === undefined ? this.#exec?.certificate?.key : new Secret(key),
    });
  }

  #setTls(next: TlsMaterial): void {
    const before = this.#tls;
    this.#tls = next;
    const same =
      before?.ca === next.ca && before?.cert === next.cert && before?.key?.reveal() === next.key?.reveal();
    if (same && before !== undefined) return;
    this.#generation++;
    if (before !== undefined) this.#deps.log.info('Client certificate or CA changed, reconnecting');
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
    const ca = await this.#readAuthority();
    return {
      server: access.server.href,
      ...(access.tlsServerName === undefined ? {} : { 'tls-server-name': access.tlsServerName }),
      ...(access.insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
      ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    };
  }

  async #readAuthority(): Promise<string | undefined> {
    return await (this.#authority?.read() ?? this.#read(this.#deps.access.ca));
  }

  async #read(material: Material | undefined): Promise<string | undefined> {
    if (material === undefined) return undefined;
    return 'pem' in material ? material.pem.reveal() : await this.#readFile(material.file);
  }

  async #readFile(file: string): Promise<string> {
    const cached = this.#files.get(file);
    try {
      const { mtimeMs, ino, size } = await stat(file);
      const version = `${mtimeMs}/${ino}/${size}`;
      if (cached?.version === version) {
        this.#unreadable.delete(file);
        return cached.text;
      }
      const text = await readFile(file, 'utf8');
      if (text.trim() === '') throw new Error('it is empty');
      this.#files.set(file, { version, text });
      this.#unreadable.delete(file);
      return text;
    } catch (cause) {
      if (cached === undefined) {
        throw new KubeletError('unavailable', 'CredentialsMissing', `cannot read ${file}`, { cause });
      }
      if (!this.#unreadable.has(file))
        this.#deps.log.warn('Failed to read credentials, using the last good ones', {
          file,
          err: describeError(cause),
        });
      this.#unreadable.add(file);
      return cached.text;
    }
  }
}
