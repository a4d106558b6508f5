// The double as a transport of the client, without sockets, for tests on the fake clock. Upstream has no counterpart.

import { KubeletError } from '../../src/base/errors.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../src/edge/apiserver/transport.ts';
import type { ApiServerDouble } from './double.ts';
import type { User } from './request.ts';

export class MemoryTransport implements Transport {
  readonly host = 'double:6443';
  readonly #double: ApiServerDouble;
  readonly #user: User | undefined;
  /** Aborted when the connections are closed, which ends the exchanges in flight. */
  #connection = new AbortController();
  unauthorizedCount = 0;

  constructor(double: ApiServerDouble, user?: User) {
    this.#double = double;
    this.#user = user;
    double.faults.onDown(() => this.closeConnections());
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    request.signal.throwIfAborted();
    if (this.#double.faults.isDown) throw unreachable('connect ECONNREFUSED');
    const connection = this.#connection.signal;
    const signal = AbortSignal.any([request.signal, connection]);
    const gone = new Promise<never>((_, reject) => {
      signal.addEventListener(
        'abort',
        () =>
          reject(
            request.signal.aborted ? (request.signal.reason as Error) : unreachable('connection closed'),
          ),
        { once: true },
      );
    });
    gone.catch(() => undefined);
    const answer = await Promise.race([
      this.#double.handle({
        method: request.method,
        path: request.path,
        headers: request.headers,
        body: request.body ?? '',
        user: this.#user,
        signal,
      }),
      gone,
    ]);
    const { body, headers, status } = answer;
    return { status, headers, body: bytes(typeof body === 'string' ? [body] : body, signal, request.signal) };
  }

  unauthorized(): void {
    this.unauthorizedCount++;
  }

  closeConnections(): void {
    this.#connection.abort();
    this.#connection = new AbortController();
  }
}

async function* bytes(
  parts: Iterable<string> | AsyncIterable<string>,
  signal: AbortSignal,
  caller: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield Buffer.from(part);
  // The stream ended because its connection broke, not because the server ended it.
  if (caller.aborted) throw caller.reason;
  if (signal.aborted) throw unreachable('connection closed');
}

function unreachable(why: string): KubeletError {
  return new KubeletError('unavailable', 'ConnectionFailed', `the API server is not reachable: ${why}`);
}
