// Certificates with their keys on the disk: a file per pair, and a link to the one that holds. Upstream:
// client-go/util/certificate/certificate_store.go, whose names these are.
// Invariants: files are the kubelet's alone; at any instant the link leads to a whole pair or there is none; a pair is on the
// disk before the link leads to it.
import { lstat, open, readFile, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { CertificatePair } from '../../api/ports/certificates.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { isMissing } from '../files/pod-files.ts';
import { readCombined, readPair } from './read-x509.ts';
import { writeWhole } from './serving-pair-files.ts';

export interface PairStoreOptions {
  readonly directory: string;
  /** `kubelet-client`, `kubelet-server` */
  readonly prefix: string;
  /** Looked at when there is no link: a pair that somebody else keeps. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly now: () => Date;
}

export class PairStore {
  readonly #options: PairStoreOptions;
  /** The link. */
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
    const combined = await textOf(this.currentPath);
    if (combined !== undefined) return named(this.currentPath, () => readCombined(combined));
    const places = [
      [certFile, keyFile],
      [join(directory, `${prefix}.crt`), join(directory, `${prefix}.key`)],
    ] as const;
    for (const [certPath, keyPath] of places) {
      if (certPath === undefined || keyPath === undefined || certPath === '') continue;
      const [cert, key] = [await textOf(certPath), await textOf(keyPath)];
      if (cert !== undefined && key !== undefined)
        return named(certPath, () =>
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
    await writeWhole(path, text, 0o600);
    await this.#linkTo(path);
    return pair;
  }

  /** Of a rotation that a crash interrupted between the two links. */
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
      // differs from upstream, which removes the old link first: in one step, there is always a certificate.
      await rename(this.#updatedPath, this.currentPath);
      await syncDirectory(dirname(path));
    } catch (cause) {
      const message = `cannot make ${this.currentPath} lead to ${path}`;
      throw new KubeletError('internal', 'FailedLink', message, { cause });
    }
  }

  async #mustBeLink(path: string): Promise<void> {
    if ((await kindOf(path)) !== 'other') return;
    throw new KubeletError('invalid', 'NotALink', `expected ${path} to be a symlink but it is a file`);
  }
}

/** A private key in a file of its own, kept until the certificate for it is there. Upstream: kubelet-client.key.tmp. */
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
    const text = await textOf(this.#path);
    if (text !== undefined && this.#isKey(text)) return new Secret(text);
    const key = await this.#newKey();
    await writeWhole(this.#path, key.reveal(), 0o600);
    return key;
  }

  async drop(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

function named(path: string, read: () => CertificatePair): CertificatePair {
  try {
    return read();
  } catch (cause) {
    throw new KubeletError('invalid', 'InvalidCertificate', `${path} cannot be used`, { cause });
  }
}

/** Undefined when it is not there, or is a link that leads to nothing. */
async function textOf(path: string): Promise<string | undefined> {
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
    throw new KubeletError('internal', 'FailedRead', `cannot look at ${path}`, { cause });
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

/** Local time, as upstream has it: 2026-11-17-02-45-06. */
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
