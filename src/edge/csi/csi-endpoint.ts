// The connection to the socket of a CSI driver, shared by its calls and replaced when it was lost or the socket was.
// Invariants: concurrent callers connect once; only sockets of root or the kubelet's own user are dialled, and links are not
// followed; a connection that was replaced ends with its calls, and after close() none is left.
// differs from upstream: that opens a connection for every use. A driver may be upgraded in place, under the same path, while its
// old process still holds the connection, so a kept one is compared with the socket that exists now.
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { Aborted, describeError } from '../../base/errors.ts';
import { inspectSocket } from '../plugins/inspect-socket.ts';
import { CsiConnection } from './csi-connection.ts';
import { type CsiFault, closingFault, dialFault, errnoText } from './csi-fault.ts';

interface CsiEndpointOptions {
  readonly path: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** How long a connection is used before the socket is inspected again. */
  readonly recheckMs: number;
  readonly idleMs: number;
}

export type CsiDialled = { readonly connection: CsiConnection } | { readonly fault: CsiFault };

/** The kernel's limit, without the terminating zero; Node would truncate a longer path. */
const longestPathBytes = 107;

export class CsiEndpoint {
  readonly #options: CsiEndpointOptions;
  readonly #closing = new AbortController();
  /** Including those that were replaced. */
  readonly #open = new Set<CsiConnection>();
  #current: CsiConnection | undefined;
  #checkedMs = 0;
  #dialling: Promise<CsiDialled> | undefined;

  constructor(options: CsiEndpointOptions) {
    this.#options = options;
  }

  /** Undefined: dial() first. */
  ready(): CsiConnection | undefined {
    const current = this.#current;
    if (current === undefined || current.isLost) return undefined;
    return this.#options.clock.monotonic() - this.#checkedMs < this.#options.recheckMs ? current : undefined;
  }

  /** Never rejects. */
  dial(): Promise<CsiDialled> {
    this.#dialling ??= this.#dial().finally(() => {
      this.#dialling = undefined;
    });
    return this.#dialling;
  }

  /** Ends every call in flight. */
  close(): void {
    this.#closing.abort(new Aborted('the client of the driver was closed'));
    for (const connection of this.#open) connection.close();
    this.#open.clear();
    this.#current = undefined;
  }

  async #dial(): Promise<CsiDialled> {
    const { signal } = this.#closing;
    const inspected = await raceAbort(this.#inspect(), signal).catch(() => ({ fault: closingFault }));
    const current = this.#current;
    if ('fault' in inspected) {
      current?.retire();
      this.#current = undefined;
      return inspected;
    }
    this.#checkedMs = this.#options.clock.monotonic();
    if (current !== undefined && !current.isLost && current.identity === inspected.identity)
      return { connection: current };
    current?.retire();
    return { connection: this.#connect(inspected.identity) };
  }

  #connect(identity: string): CsiConnection {
    for (const each of this.#open) if (each.isEnded) this.#open.delete(each);
    const { path, idleMs } = this.#options;
    const connection = new CsiConnection({ path, identity, idleMs });
    this.#open.add(connection);
    this.#current = connection;
    return connection;
  }

  async #inspect(): Promise<{ readonly identity: string } | { readonly fault: CsiFault }> {
    const { path } = this.#options;
    if (Buffer.byteLength(path) > longestPathBytes || path.includes('\0'))
      return { fault: dialFault(path, 'invalid argument') };
    try {
      const inspected = await inspectSocket(path);
      if (inspected.is === 'socket') return { identity: inspected.identity };
      if (inspected.is === 'missing') return { fault: dialFault(path, 'no such file or directory') };
      // As the kernel refuses a connection to another kind of file.
      if (inspected.is === 'other') return { fault: dialFault(path, 'connection refused') };
      return { fault: dialFault(path, `the socket is refused: ${inspected.why}`) };
    } catch (err) {
      return { fault: dialFault(path, err instanceof Error ? errnoText(err) : describeError(err)) };
    }
  }
}
