// For tests of what speaks CRI over a socket: a directory with a runtime's socket in it, and clients of it.
// Invariant: end() closes and removes everything that was made through the rig.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '../../src/base/clock.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { type CriClient, type CriClientOptions, criClient } from '../../src/edge/cri/client.ts';
import { type CriParts, type ServedCri, type ServeOptions, serveCri } from './serve.ts';

export class SocketRig {
  readonly dir: string;
  readonly #ends: (() => unknown)[] = [];

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async make(): Promise<SocketRig> {
    return new SocketRig(await mkdtemp(join(tmpdir(), 'kubelet-cri-')));
  }

  get path(): string {
    return join(this.dir, 'r.sock');
  }

  async serve(parts: CriParts, options: Partial<ServeOptions> = {}): Promise<ServedCri> {
    const served = await serveCri({ path: this.path, parts, ...options });
    this.atEnd(() => served.close());
    return served;
  }

  connect(options: Partial<CriClientOptions> = {}): CriClient {
    const client = criClient({ runtimeEndpoint: `unix://${this.path}`, clock: realClock, ...options });
    this.atEnd(() => client.close());
    return client;
  }

  atEnd(fn: () => unknown): void {
    this.#ends.push(fn);
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** The KubeletError that a promise rejects with; anything else is an error of the test. */
export async function failureOf(promise: Promise<unknown>): Promise<KubeletError> {
  const outcome = await promise.then(
    (value) => new Error(`expected a failure, got ${JSON.stringify(value)}`),
    (err: unknown) => err,
  );
  if (outcome instanceof KubeletError) return outcome;
  throw outcome;
}

/** A call that answers only when its caller has given up. */
export function hang(_request: unknown, options?: { readonly signal?: AbortSignal }): Promise<never> {
  return new Promise((_resolve, reject) => {
    options?.signal?.addEventListener('abort', () => reject(new Error('the caller gave up')));
  });
}
