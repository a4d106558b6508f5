// A directory with a runtime's socket, and clients of it, for tests of CRI over a socket.
// Invariant: end() closes and removes everything that was created through the rig.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '../../src/base/clock.ts';
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

/** A call that settles only when its caller aborts. */
export function hang(_request: unknown, options?: { readonly signal?: AbortSignal }): Promise<never> {
  return new Promise((_resolve, reject) => {
    options?.signal?.addEventListener('abort', () => reject(new Error('the caller aborted')));
  });
}
