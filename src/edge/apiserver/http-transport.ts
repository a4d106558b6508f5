// The way to a real API server: HTTP/2 on one connection for everything where the server speaks it, HTTP/1.1 otherwise.
// Upstream: client-go/transport. Invariants: new certificates mean new connections; what is sent twice was not carried out
// the first time: the server had refused it unread, or it only reads.

import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { Credentials } from './credentials.ts';
import { dial } from './dial.ts';
import { Http1Connections, stale } from './http1-connections.ts';
import { Http2Connection, refused, type WireRequest } from './http2-connection.ts';
import { proxyFromEnvironment } from './proxy-environment.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

interface HttpTransportDeps {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly log: Logger;
  /** For HTTPS_PROXY and NO_PROXY, where the kubeconfig names no proxy. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** How often one request is sent on another connection. */
const mostResends = 2;
/** What was begun with the old certificate may go on for so long. */
const retireMs = 10_000;

export class HttpTransport implements Transport {
  readonly host: string;
  readonly #deps: HttpTransportDeps;
  readonly #credentials: Credentials;
  readonly #proxy: URL | undefined;
  #generation = 0;
  /** Ends what was made with certificates that have been replaced. */
  #closeRetired: () => void = () => undefined;
  #http2: Http2Connection[] = [];
  #http1: Http1Connections | undefined;
  #dialling: Promise<void> | undefined;

  constructor(deps: HttpTransportDeps) {
    this.#deps = deps;
    this.#credentials = new Credentials(deps);
    this.host = deps.access.server.host;
    this.#proxy = deps.access.proxyUrl ?? proxyFromEnvironment(deps.access.server, deps.env ?? {});
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    for (let attempt = 0; ; attempt++) {
      request.signal.throwIfAborted();
      await this.#credentials.refresh(request.signal);
      request.signal.throwIfAborted();
      this.#dropOlder();
      let connection = this.#usable();
      const isNew = connection === undefined;
      while (connection === undefined) {
        await this.#connect();
        request.signal.throwIfAborted();
        // Looked for again in the turn in which it is used: others waited for the same connection, and may have filled it.
        connection = this.#usable();
      }
      try {
        return await connection.send(this.#wire(request));
      } catch (err) {
        if (attempt >= mostResends || !maySendAgain(err, request, !isNew)) throw err;
      }
    }
  }

  /** There is another client certificate: it is used from now on, and what was begun with the one before ends soon. */
  async renew(): Promise<void> {
    this.#credentials.distrust();
    await this.#credentials.refresh(new AbortController().signal);
    this.#dropOlder();
  }

  unauthorized(): void {
    this.#credentials.distrust();
  }

  closeConnections(): void {
    this.#closeRetired();
    for (const connection of this.#http2) connection.close();
    this.#http2 = [];
    this.#http1?.close();
    this.#http1 = undefined;
  }

  #wire(request: TransportRequest): WireRequest {
    const { pathname } = this.#deps.access.server;
    return {
      method: request.method,
      path: pathname === '/' ? request.path : pathname.replace(/\/$/, '') + request.path,
      headers: { ...request.headers, ...this.#credentials.headers() },
      body: request.body,
      signal: request.signal,
    };
  }

  #usable(): Http2Connection | Http1Connections | undefined {
    this.#http2 = this.#http2.filter((connection) => !connection.isDone);
    return this.#http2.find((connection) => connection.hasRoom) ?? this.#http1;
  }

  /** One at a time: who comes meanwhile uses the same connection, as far as there is room on it. */
  async #connect(): Promise<void> {
    this.#dialling ??= this.#open().finally(() => {
      this.#dialling = undefined;
    });
    await this.#dialling;
  }

  async #open(): Promise<void> {
    const { access, clock } = this.#deps;
    const { socket, protocol } = await this.#dial();
    if (protocol === 'h2') {
      const connection = new Http2Connection(socket, access.server, clock);
      await connection.ready();
      this.#http2.push(connection);
      return;
    }
    // The connection that showed what the server speaks is the first of many.
    let first: typeof socket | undefined = socket;
    const connections = new Http1Connections(access.server, async () => {
      const made = first ?? (await this.#dial()).socket;
      first = undefined;
      return made;
    });
    this.#http1 = connections;
  }

  async #dial() {
    return await dial(this.#deps.access, this.#credentials.tls(), this.#proxy);
  }

  #dropOlder(): void {
    const { generation } = this.#credentials;
    if (generation === this.#generation) return;
    const isFirst = this.#generation === 0;
    this.#generation = generation;
    if (isFirst) return;
    const http2 = this.#http2;
    const http1 = this.#http1;
    this.#http2 = [];
    this.#http1 = undefined;
    for (const connection of http2) connection.retire();
    this.#closeRetired();
    // Watches would go on for minutes as whoever we were before.
    const timer = this.#deps.clock.setTimer(retireMs, () => this.#closeRetired());
    this.#closeRetired = () => {
      timer.cancel();
      for (const connection of http2) connection.close();
      http1?.close();
    };
  }
}

function maySendAgain(err: unknown, request: TransportRequest, wasUsedBefore: boolean): boolean {
  if (!(err instanceof KubeletError) || request.signal.aborted) return false;
  if (err.reason === refused) return true;
  // A connection that was kept may have been closed by the server while nobody looked.
  return (
    request.method === 'GET' && (err.reason === stale || (wasUsedBefore && err.reason === 'ConnectionBroken'))
  );
}
