// The output of a program, up to a limit. Invariant: what exceeds the limit is read and discarded, so that the program does not
// block on a full pipe.
import type { Readable } from 'node:stream';

const mask = '--- masked ---';

export class BoundedText {
  readonly #stream: Readable;
  readonly #chunks: Buffer[] = [];
  #bytesLeft: number;
  #isTruncated = false;

  constructor(stream: Readable, limitBytes: number) {
    this.#stream = stream;
    this.#bytesLeft = limitBytes;
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => this.#add(chunk));
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  /** Without these secrets. */
  masked(secrets: readonly string[]): string {
    // Longer ones first: one secret may contain another.
    const sorted = secrets.filter((each) => each !== '').toSorted((a, b) => b.length - a.length);
    const text = sorted.reduce((all, secret) => all.replaceAll(secret, mask), this.text());
    const longest = sorted[0]?.length ?? 0;
    // The limit may have cut a secret.
    return this.#isTruncated && longest > 1 ? text.slice(0, 1 - longest) : text;
  }

  close(): void {
    this.#stream.removeAllListeners('data');
    this.#stream.destroy();
  }

  #add(chunk: Buffer): void {
    const kept = chunk.subarray(0, this.#bytesLeft);
    if (kept.length < chunk.length) this.#isTruncated = true;
    if (kept.length > 0) this.#chunks.push(kept);
    this.#bytesLeft -= kept.length;
  }
}
