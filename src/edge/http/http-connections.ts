// The connections of a listener and the in-flight exchanges on each. Invariant: every connection is tracked from its first byte
// to its last, and so is every exchange on it.
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Aborted } from '../../base/errors.ts';

/** HTTP/1.1 has one exchange at a time per socket, HTTP/2 many per session. */
export type Connection = Socket | ServerHttp2Session;

/** One request from its arrival until its response is complete or its client has disconnected. */
export interface Exchange {
  readonly abort: AbortController;
  /** It may last as long as the client wants, so a server that closes does not wait for it. */
  streaming: boolean;
  /** The whole response was written to the connection. */
  answered: boolean;
}

export class HttpConnections {
  readonly #exchanges = new Map<Connection, Set<Exchange>>();
  /** Sockets without a connection yet, or that carry one. */
  readonly #sockets = new Set<Socket>();
  readonly #retired = new WeakSet<Connection>();
  #closing = false;

  get closing(): boolean {
    return this.#closing;
  }

  /** Tracks a socket that may become a connection, so that endAll() destroys it. */
  track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  add(connection: Connection): void {
    this.#exchanges.set(connection, new Set());
    (connection as Socket).once('close', () => this.#exchanges.delete(connection));
  }

  /** Whether no exchange is in flight on the connection. */
  isIdle(connection: Connection): boolean {
    return this.inFlight(connection) === 0;
  }

  /** The number of unanswered requests of the connection. */
  inFlight(connection: Connection): number {
    return this.#exchanges.get(connection)?.size ?? 0;
  }

  begin(connection: Connection): Exchange {
    const exchange: Exchange = { abort: new AbortController(), streaming: false, answered: false };
    this.#exchanges.get(connection)?.add(exchange);
    return exchange;
  }

  end(connection: Connection, exchange: Exchange): void {
    this.#exchanges.get(connection)?.delete(exchange);
    if (this.#closing) this.#endIdle();
    else if (this.#retired.has(connection) && this.isIdle(connection)) endGracefully(connection);
  }

  /** Whether the connection must end after its in-flight responses. */
  isLast(connection: Connection): boolean {
    return this.#closing || this.#retired.has(connection);
  }

  /** Stops the matching connections from accepting requests; in-flight exchanges complete. */
  retire(which: (connection: Connection) => boolean): void {
    for (const connection of this.#exchanges.keys()) {
      if (!which(connection)) continue;
      this.#retired.add(connection);
      if ('destroySoon' in connection) {
        if (this.isIdle(connection)) connection.destroySoon();
      } else connection.close();
    }
  }

  /** Ends idle connections, aborts streams, and lets other in-flight responses complete. */
  close(): void {
    this.#closing = true;
    for (const exchange of this.#all()) if (exchange.streaming) exchange.abort.abort(serverClosing());
    this.#endIdle();
  }

  endAll(): void {
    for (const exchange of this.#all()) exchange.abort.abort(serverClosing());
    for (const connection of this.#exchanges.keys()) connection.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  *#all(): Iterable<Exchange> {
    for (const exchanges of this.#exchanges.values()) yield* exchanges;
  }

  #endIdle(): void {
    for (const [connection, exchanges] of this.#exchanges)
      if (exchanges.size === 0) endGracefully(connection);
  }
}

function endGracefully(connection: Connection): void {
  if ('destroySoon' in connection) connection.destroySoon();
  else connection.close();
}

function serverClosing(): Aborted {
  return new Aborted('the server is closing');
}
