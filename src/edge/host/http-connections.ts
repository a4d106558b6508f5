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
}

export class HttpConnections {
  readonly #exchanges = new Map<Connection, Set<Exchange>>();
  #closing = false;

  get closing(): boolean {
    return this.#closing;
  }

  get size(): number {
    return this.#exchanges.size;
  }

  add(connection: Connection): void {
    this.#exchanges.set(connection, new Set());
    (connection as Socket).once('close', () => this.#exchanges.delete(connection));
  }

  /** Whether nothing is under way on it. */
  isIdle(connection: Connection): boolean {
    return (this.#exchanges.get(connection)?.size ?? 0) === 0;
  }

  begin(connection: Connection): Exchange {
    const exchange: Exchange = { abort: new AbortController(), streaming: false };
    this.#exchanges.get(connection)?.add(exchange);
    return exchange;
  }

  end(connection: Connection, exchange: Exchange): void {
    this.#exchanges.get(connection)?.delete(exchange);
    if (this.#closing) this.#endIdle();
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
