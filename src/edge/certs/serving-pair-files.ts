// The two files of a serving certificate. Upstream: certutil.WriteCert, keyutil.WriteKey.
// Invariants: only the kubelet can read the key, from its first byte on; each file is replaced atomically, the key first, so that
// a crash in between leaves a mismatched pair, which read() rejects.
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CertificatePair } from '../../api/ports/certificates.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { setDirectoryMode } from '../files/small-files.ts';
import { watchPath } from '../manifests/watch-dir.ts';
import { readPair } from './read-x509.ts';

export interface ServingPairPaths {
  readonly certFile: string;
  readonly keyFile: string;
}

export class ServingPairFiles {
  readonly #paths: ServingPairPaths;
  readonly #clock: Clock;

  constructor(paths: ServingPairPaths, clock: Clock) {
    this.#paths = paths;
    this.#clock = clock;
  }

  async read(): Promise<CertificatePair> {
    const { certFile, keyFile } = this.#paths;
    const certPem = await readText(certFile);
    const key = new Secret(await readText(keyFile));
    try {
      return readPair(certPem, key);
    } catch (cause) {
      throw new KubeletError('invalid', 'InvalidCertificate', `${certFile} with ${keyFile}`, { cause });
    }
  }

  async write({ certPem, key }: CertificatePair): Promise<void> {
    const { certFile, keyFile } = this.#paths;
    await writeAtomically(keyFile, key.reveal(), 0o600);
    await writeAtomically(certFile, certPem, 0o644);
  }

  watch(onChange: () => void, onError: (err: unknown) => void): { close(): void } {
    const { certFile, keyFile } = this.#paths;
    const paths = certFile === keyFile ? [certFile] : [certFile, keyFile];
    const watches = paths.map((path) => watchPath({ path, clock: this.#clock, onChange, onError }));
    return {
      close: () => {
        for (const watch of watches) watch.close();
      },
    };
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new KubeletError('invalid', 'InvalidCertificate', `cannot read ${path}`, { cause });
  }
}

/** Replaces the file atomically; it is synced to disk when this resolves. */
export async function writeAtomically(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.new`;
  try {
    const created = await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    // mkdir applies the umask.
    if (created !== undefined) await setDirectoryMode(dirname(path), 0o755);
    const file = await open(temporary, 'w', mode);
    try {
      // A leftover from a crash would keep its mode otherwise.
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    throw new KubeletError('internal', 'FailedWrite', `cannot write ${path}`, { cause });
  }
}
