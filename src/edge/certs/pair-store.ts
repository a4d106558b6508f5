// Stores certificate pairs on disk: one file per pair, and a symlink to the current one.
// Upstream: client-go/util/certificate/certificate_store.go, with the same file names.
// Invariants: only the kubelet can read the files; at any instant the symlink leads to a whole pair or does not exist; a pair is
// synced to disk before the symlink leads to it.
import { lstat, open, readFile, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { CertificatePair } from '../../api/ports/certificates.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { isMissing } from '../files/pod-files.ts';
import { readCombined, readPair } from './read-x509.ts';
import { writeAtomically } from './serving-pair-files.ts';

export interface PairStoreOptions {
  readonly directory: string;
  /** `kubelet-client`, `kubelet-server` */
  readonly prefix: string;
  /** A configured pair, read when there is no symlink. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly now: () => Date;
}

export class PairStore {
  readonly #options: PairStoreOptions;
  /** The symlink. */
  readonly currentPath: string;
  readonly #updatedPath: string;

  constructor(options: PairStoreOptions) {
    this.#options = options;
    const { directory, prefix } = options;
    this.currentPath = join(resolve(directory), `${prefix}-current.pem`);
    this.#updatedPath = join(resolve(directory), `${prefix}-updated.pem`);
  }

  async current(): Promise<CertificatePair | undefined> {
    const { certFile, directory, keyFile, prefix } = this.#options;
    await this.#recover();
    const combined = await readIfExists(this.currentPath);
    if (combined !== undefined) return withPath(this.currentPath, () => readCombined(combined));
    const candidates = [
      [certFile, keyFile],
      [join(directory, `${prefix}.crt`), join(directory, `${prefix}.key`)],
    ] as const;
    for (const [certPath, keyPath] of candidates) {
      if (certPath === undefined || keyPath === undefined || certPath === '') continue;
      const [cert, key] = [await readIfExists(certPath), await readIfExists(keyPath)];
      if (cert !== undefined && key !== undefined)
        return withPath(certPath, () =>
          certPath === keyPath ? readCombined(cert) : readPair(cert, new Secret(key)),
        );
    }
    return undefined;
  }

  async update(certPem: string, key: Secret): Promise<CertificatePair> {
    const { now, prefix } = this.#options;
    const pair = readPair(certPem, key);
    const path = join(dirname(this.currentPath), `${prefix}-${timeStamp(now())}.pem`);
    const text = withNewline(certPem) + withNewline(key.reveal());
    await this.#mustBeLink(this.currentPath);
    await writeAtomically(path, text, 0o600);
    await this.#linkTo(path);
    return pair;
  }

  /** Completes a rotation that a crash interrupted between removing the old symlink and renaming the new one. */
  async #recover(): Promise<void> {
    if ((await kindOf(this.currentPath)) !== undefined || (await kindOf(this.#updatedPath)) !== 'link')
      return;
    await rename(this.#updatedPath, this.currentPath);
  }

  async #linkTo(path: string): Promise<void> {
    await this.#mustBeLink(this.#updatedPath);
    try {
      await rm(this.#updatedPath, { force: true });
      await symlink(path, this.#updatedPath);
      // differs from upstream, which removes the old symlink first: an atomic rename always leaves a certificate.
      await rename(this.#updatedPath, this.currentPath);
      await syncDirectory(dirname(path));
    } catch (cause) {
      const message = `cannot link ${this.currentPath} to ${path}`;
      throw new KubeletError('internal', 'FailedLink', message, { cause });
    }
  }

  async #mustBeLink(path: string): Promise<void> {
    if ((await kindOf(path)) !== 'other') return;
    throw new KubeletError('invalid', 'NotALink', `expected ${path} to be a symlink but it is a file`);
  }
}

/** A private key in a file, kept until its certificate is issued. Upstream: kubelet-client.key.tmp. */
export class PendingKeyFile {
  readonly #path: string;
  readonly #newKey: () => Promise<Secret>;
  readonly #isKey: (pem: string) => boolean;

  constructor(path: string, newKey: () => Promise<Secret>, isKey: (pem: string) => boolean) {
    this.#path = path;
    this.#newKey = newKey;
    this.#isKey = isKey;
  }

  async take(): Promise<Secret> {
    const text = await readIfExists(this.#path);
    if (text !== undefined && this.#isKey(text)) return new Secret(text);
    const key = await this.#newKey();
    await writeAtomically(this.#path, key.reveal(), 0o600);
    return key;
  }

  async drop(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

function withPath(path: string, read: () => CertificatePair): CertificatePair {
  try {
    return read();
  } catch (cause) {
    throw new KubeletError('invalid', 'InvalidCertificate', `${path} cannot be used`, { cause });
  }
}

/** Undefined when the file does not exist, or is a dangling symlink. */
async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new KubeletError('internal', 'FailedRead', `cannot read ${path}`, { cause });
  }
}

async function kindOf(path: string): Promise<'link' | 'other' | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? 'link' : 'other';
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new KubeletError('internal', 'FailedRead', `cannot stat ${path}`, { cause });
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** In local time, as upstream: 2026-11-17-02-45-06. */
function timeStamp(date: Date): string {
  const parts = [
    date.getFullYear(),
    date.getMonth() + 1,
    date.getDate(),
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
  ];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}
