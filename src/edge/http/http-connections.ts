// Which connections a listener has, and what is under way on each. Invariant: a connection is known from its first byte to its
// last, and so is every answer on it.
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Aborted } from '../../base/errors.ts';

/** HTTP/1.1 has one exchange at a time on its socket, HTTP/2 many on its session. */
export type Connection = Socket | ServerHttp2Session;

/** One request from its arrival until its answer is complete or its client has gone. */
export interface Exchange {
  readonly abort: AbortController;
  /** It may go on for as long as the client likes, so a server that closes does not wait for it. */
  streaming: boolean;
  /** All of its answer was given to the connection. */
  answered: boolean;
}

export class HttpConnections {
  readonly #exchanges = new Map<Connection, Set<Exchange>>();
  /** What is not a connection yet, or carries one. */
  readonly #sockets = new Set<Socket>();
  readonly #retired = new WeakSet<Connection>();
  #closing = false;

  get closing(): boolean {
    return this.#closing;
  }

  /** A socket on which a connection may come to be, to be destroyed with the rest in the end. */
  track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  add(connection: Connection): void {
    this.#exchanges.set(connection, new Set());
    (connection as Socket).once('close', () => this.#exchanges.delete(connection));
  }

  /** Whether nothing is under way on it. */
  isIdle(connection: Connection): boolean {
    return this.underWay(connection) === 0;
  }

  /** Requests that came on it and are not answered yet. */
  underWay(connection: Connection): number {
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
    else if (this.#retired.has(connection) && this.isIdle(connection)) endSoon(connection);
  }

  /** Whether the answer under way on it is to be the last. */
  isLast(connection: Connection): boolean {
    return this.#closing || this.#retired.has(connection);
  }

  /** These take no further requests; what is under way on them goes on to its end. */
  retire(which: (connection: Connection) => boolean): void {
    for (const connection of this.#exchanges.keys()) {
      if (!which(connection)) continue;
      this.#retired.add(connection);
      if ('destroySoon' in connection) {
        if (this.isIdle(connection)) connection.destroySoon();
      } else connection.close();
    }
  }

  /** Idle connections end now, streams are asked to, answers under way may go on. */
  close(): void {
    this.#closing = true;
    for (const exchange of this.#all()) if (exchange.streaming) exchange.abort.abort(serverCloses());
    this.#endIdle();
  }

  endAll(): void {
    for (const exchange of this.#all()) exchange.abort.abort(serverCloses());
    for (const connection of this.#exchanges.keys()) connection.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  *#all(): Iterable<Exchange> {
    for (const exchanges of this.#exchanges.values()) yield* exchanges;
  }

  #endIdle(): void {
    for (const [connection, exchanges] of this.#exchanges) if (exchanges.size === 0) endSoon(connection);
  }
}

function endSoon(connection: Connection): void {
  if ('destroySoon' in connection) connection.destroySoon();
  else connection.close();
}

function serverCloses(): Aborted {
  return new Aborted('the server closes');
}
