// The CA of the API server from the file that the kubeconfig names, reread while the kubelet runs.
// Upstream: client-go/transport/ca_rotation.go. Invariant: a file that is missing, empty or without a certificate never
// replaces the last good bundle, and is logged once.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';

export interface AuthorityReloads {
  /** The gate ClientsAllowCARotation. */
  readonly enabled: boolean;
  /** Counts every attempt to reread the file. */
  readonly count?: (result: 'success' | 'failure', reason: string) => void;
}

interface AuthorityFileDeps {
  readonly file: string;
  readonly reloads: AuthorityReloads;
  readonly log: Logger;
}

export class AuthorityFile {
  readonly #deps: AuthorityFileDeps;
  #text = '';
  #pem: string | undefined;
  /** The last failure, which is logged once. */
  #lastFailure = '';

  constructor(deps: AuthorityFileDeps) {
    this.#deps = deps;
  }

  /** The certificates of the file, or the last good ones. Rejects if there are none yet. */
  async read(): Promise<string> {
    const { file, reloads } = this.#deps;
    if (this.#pem !== undefined) return reloads.enabled ? await this.#reload(this.#pem) : this.#pem;
    try {
      this.#text = await readFile(file, 'utf8');
      this.#pem = certificatesOf(this.#text);
      return this.#pem;
    } catch (cause) {
      throw new KubeletError('unavailable', 'CredentialsMissing', `cannot read ${file}`, { cause });
    }
  }

  async #reload(current: string): Promise<string> {
    const { file, reloads } = this.#deps;
    let reason = 'read_error';
    try {
      const text = await readFile(file, 'utf8');
      reason = text === '' ? 'empty' : 'ca_parse_error';
      const isUnchanged = text === this.#text;
      this.#pem = isUnchanged ? current : certificatesOf(text);
      this.#text = text;
      this.#lastFailure = '';
      reloads.count?.('success', isUnchanged ? 'unchanged' : 'updated');
      return this.#pem;
    } catch (err) {
      reloads.count?.('failure', reason);
      this.#keepCurrent(err);
      return current;
    }
  }

  #keepCurrent(err: unknown): void {
    const { file, log } = this.#deps;
    const failure = describeError(err);
    if (failure === this.#lastFailure) return;
    this.#lastFailure = failure;
    log.error('Failed to reload the CA of the API server, using the last good one', { file, err: failure });
  }
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** As upstream, blocks that are not certificates are ignored as long as one is. */
function certificatesOf(text: string): string {
  const valid = (text.match(block) ?? []).filter(isCertificate);
  if (valid.length === 0)
    throw new KubeletError('invalid', 'InvalidCertificateAuthority', 'it has no certificate in PEM');
  return valid.map((each) => `${each}\n`).join('');
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}
