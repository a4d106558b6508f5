// HTTP/1.1 for servers and proxies without HTTP/2: one connection per request in flight, kept alive for reuse.
// Invariant: after close() no socket is left.
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { KubeletError } from '../../base/errors.ts';
import type { WireRequest } from './http2-connection.ts';
import type { TransportResponse } from './transport.ts';

const maxIdleSockets = 25;
/** Shorter than the idle timeout of servers. */
const idleMs = 60_000;

export class Http1Connections {
  readonly #agent: DialAgent;
  readonly #server: URL;

  constructor(server: URL, dialSocket: () => Promise<Socket>) {
    this.#server = server;
    this.#agent = new DialAgent(dialSocket);
  }

  send(request: WireRequest): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      const { body, headers, method, path, signal } = request;
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const outgoing = httpRequest({
        agent: this.#agent,
        host: this.#server.hostname,
        port: this.#server.port,
        method,
        path,
        headers: { host: this.#server.host, ...headers, ...length },
        signal,
      });
      outgoing.once('response', (response) => resolve(responseOf(response, signal)));
      outgoing.on('error', (cause) =>
        reject(signal.aborted ? (signal.reason as Error) : broken(cause, outgoing)),
      );
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.closeAll();
  }
}

class DialAgent extends Agent {
  readonly #dial: () => Promise<Socket>;
  readonly #open = new Set<Socket>();

  constructor(dialSocket: () => Promise<Socket>) {
    super({ keepAlive: true, maxFreeSockets: maxIdleSockets, timeout: 0 });
    this.#dial = dialSocket;
  }

  override createConnection(
    _options: unknown,
    callback?: (err: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    void this.#connect(callback ?? (() => undefined));
    return undefined;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    super.keepSocketAlive(socket);
    (socket as Socket).setTimeout(idleMs);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    (socket as Socket).setTimeout(0);
    super.reuseSocket(socket, request);
  }

  async #connect(done: (err: Error | null, stream: Duplex) => void): Promise<void> {
    let socket: Socket;
    try {
      socket = await this.#dial();
    } catch (err) {
      done(err as Error, undefined as unknown as Duplex);
      return;
    }
    this.#open.add(socket);
    // The timeout is only set while the socket is idle.
    socket.on('timeout', () => socket.destroy());
    socket.once('close', () => this.#open.delete(socket));
    done(null, socket);
  }

  closeAll(): void {
    this.destroy();
    for (const socket of this.#open) socket.destroy();
  }
}

function responseOf(response: IncomingMessage, signal: AbortSignal): TransportResponse {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return { status: response.statusCode ?? 0, headers, body: bodyOf(response, signal) };
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) yield chunk;
  } catch (cause) {
    throw signal.aborted ? signal.reason : broken(cause);
  }
  if (signal.aborted) throw signal.reason;
  if (!response.complete) throw broken(undefined);
}

/** Reason of an error on a reused connection that the server had closed: a new connection will do. */
export const stale = 'ConnectionStale';

function broken(cause: unknown, request?: ClientRequest): KubeletError {
  if (cause instanceof KubeletError) return cause;
  const reason = request?.reusedSocket === true ? stale : 'ConnectionBroken';
  return new KubeletError('unavailable', reason, 'the connection to the API server was lost', { cause });
}
