// The transport to a real API server: one HTTP/2 connection for all requests if the server supports it, else HTTP/1.1.
// Upstream: client-go/transport. Invariants: new certificates mean new connections; a request is resent only if the
// server refused it unprocessed (REFUSED_STREAM, GOAWAY) or if it is a GET.
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { AuthorityReloads } from './authority-file.ts';
import { Credentials } from './credentials.ts';
import { dial } from './dial.ts';
import { Http1Connections, stale } from './http1-connections.ts';
import { Http2Connection, refused, type WireRequest } from './http2-connection.ts';
import { proxyFromEnvironment } from './proxy-environment.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

interface HttpTransportDeps {
  readonly access: ClusterAccess;
  /** Reloads of the CA from its file. */
  readonly authority: AuthorityReloads;
  readonly clock: Clock;
  readonly log: Logger;
  /** HTTPS_PROXY and NO_PROXY are read from here if the kubeconfig names no proxy. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** How often one request is resent on another connection. */
const maxResends = 2;
/** How long requests on connections of an old certificate may continue. */
const retireMs = 10_000;

export class HttpTransport implements Transport {
  readonly host: string;
  /** Announced after every new connection. */
  readonly connected = new Channel<void>();
  readonly #deps: HttpTransportDeps;
  readonly #credentials: Credentials;
  readonly #proxy: URL | undefined;
  #generation = 0;
  /** Closes the connections of replaced certificates. */
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
      this.#retireOlder();
      let connection = this.#usable();
      const isNew = connection === undefined;
      while (connection === undefined) {
        await this.#connect();
        request.signal.throwIfAborted();
        // Checked again in the turn that uses it: other requests waited for the same connection and may have filled it.
        connection = this.#usable();
      }
      try {
        return await connection.send(this.#wire(request));
      } catch (err) {
        if (attempt >= maxResends || !mayResend(err, request, !isNew)) throw err;
      }
    }
  }

  /** Switches to a new client certificate. Requests under way on the old one have `retireMs` to end. */
  async renew(): Promise<void> {
    this.#credentials.invalidate();
    await this.#credentials.refresh(new AbortController().signal);
    this.#retireOlder();
  }

  unauthorized(): void {
    this.#credentials.invalidate();
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

  /** Dials once at a time: concurrent requests share the new connection as far as it has room. */
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
    // The connection on which the protocol was negotiated becomes the first of the pool.
    let first: typeof socket | undefined = socket;
    const connections = new Http1Connections(access.server, async () => {
      const next = first ?? (await this.#dial()).socket;
      first = undefined;
      return next;
    });
    this.#http1 = connections;
  }

  async #dial() {
    const dialled = await dial(this.#deps.access, this.#credentials.tls(), this.#proxy);
    this.connected.push();
    return dialled;
  }

  #retireOlder(): void {
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
    // Otherwise watches would continue for minutes under the old identity.
    const timer = this.#deps.clock.setTimer(retireMs, () => this.#closeRetired());
    this.#closeRetired = () => {
      timer.cancel();
      for (const connection of http2) connection.close();
      http1?.close();
    };
  }
}

function mayResend(err: unknown, request: TransportRequest, isReused: boolean): boolean {
  if (!(err instanceof KubeletError) || request.signal.aborted) return false;
  if (err.reason === refused) return true;
  // The server may have closed an idle connection in the meantime.
  return (
    request.method === 'GET' && (err.reason === stale || (isReused && err.reason === 'ConnectionBroken'))
  );
}
