// Serves gRPC services on a unix socket. Owns the socket, its connections and the calls in flight.
// Invariants: what a client sends ends at most its own connection; after close() no connection, call or timer is left.
// Upstream: grpc.Server as pkg/kubelet/server uses it.
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createNetServer, type Server, type Socket } from 'node:net';
import { RpcFailure, type RpcService } from '../../api/kubelet/rpc-service.ts';
import type { Clock } from '../../base/clock.ts';
import { RewrittenSocket } from './authority/rewritten-socket.ts';
import { httpRefusal, responseHead, statusHeaders } from './call-head.ts';
import { defaultGrpcLimits, type GrpcLimits } from './limits.ts';
import { Methods } from './methods.ts';
import { type ServeCallDeps, ServedCall } from './serve-call.ts';
import { bindUnixSocket } from './unix-socket.ts';

export interface ListenGrpcOptions {
  /** Of the socket. */
  readonly path: string;
  /** Creates the socket at its path, and removes it on close; otherwise it is moved there. */
  readonly inPlace?: boolean;
  readonly services: readonly RpcService[];
  readonly limits?: Partial<GrpcLimits>;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Called with what handlers throw besides RpcFailures, and without a method with errors of the listening socket. */
  readonly onError: (err: unknown, method?: string) => void;
}

export interface GrpcListener {
  /** Ends streams as UNAVAILABLE, lets unary calls complete for a while, then closes every connection. */
  close(): Promise<void>;
}

/** In units of a million bytes, Node's unit. */
const sessionMemory = 64;

export async function listenGrpc(options: ListenGrpcOptions): Promise<GrpcListener> {
  const limits: GrpcLimits = { ...defaultGrpcLimits, ...options.limits };
  const server = new GrpcServer({ ...options, methods: new Methods(options.services), limits });
  await server.open(options.path, options.inPlace ?? false);
  return server;
}

interface Connection {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** In flight. */
  readonly calls: Set<ServedCall>;
  /** Closes the connection unless it has calls. */
  readonly idle: NodeJS.Timeout;
  destroying: NodeJS.Timeout | undefined;
}

class GrpcServer implements GrpcListener {
  readonly #deps: ServeCallDeps & Pick<ListenGrpcOptions, 'onError'>;
  readonly #server: Server = createNetServer({ allowHalfOpen: true });
  readonly #http2: Http2Server;
  readonly #connections = new Map<ServerHttp2Session, Connection>();
  #calls = 0;
  #closing = false;

  constructor(deps: ServeCallDeps & Pick<ListenGrpcOptions, 'onError'>) {
    const { limits } = deps;
    this.#deps = deps;
    this.#http2 = createServer({
      maxHeaderListPairs: limits.headerPairs,
      maxSessionMemory: sessionMemory,
      settings: {
        enablePush: false,
        maxConcurrentStreams: limits.streams,
        maxHeaderListSize: limits.headerBytes,
      },
    });
  }

  async open(path: string, inPlace: boolean): Promise<void> {
    const { limits, onError } = this.#deps;
    const server = this.#server;
    const http2 = this.#http2;
    server.maxConnections = limits.connections;
    let socket: Socket | undefined;
    server.on('connection', (connected: Socket) => {
      // Node emits 'session' while it handles the connection, so the latest socket is the session's.
      socket = connected;
      http2.emit('connection', new RewrittenSocket(connected));
    });
    http2.on('session', (session) => {
      if (socket !== undefined) this.#accept(session, socket);
    });
    http2.on('stream', (stream, headers) => this.#serve(stream, headers));
    // The session is destroyed; its client broke the protocol or disconnected.
    http2.on('sessionError', () => undefined);
    await bindUnixSocket(server, path, { inPlace });
    // For example too many open files: one client is lost, not the server.
    server.on('error', (err: unknown) => onError(err));
  }

  async close(): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    for (const connection of this.#connections.values()) {
      for (const call of connection.calls)
        if (call.streams) call.fail(new RpcFailure('UNAVAILABLE', 'the server is shutting down'));
      connection.session.close();
      this.#destroySoon(connection);
    }
    await closed;
  }

  #accept(session: ServerHttp2Session, socket: Socket): void {
    const calls = new Set<ServedCall>();
    const close = (): void => {
      if (calls.size > 0) return;
      session.close();
      this.#destroySoon(connection);
    };
    // Not the session's own timeout, which some protocol errors stop.
    const idle = setTimeout(close, this.#deps.limits.idleMs);
    const connection: Connection = { session, socket, calls, idle, destroying: undefined };
    this.#connections.set(session, connection);
    // The client broke the protocol or disconnected.
    session.on('error', () => this.#destroySoon(connection));
    session.on('goaway', () => {
      session.close();
      this.#rest(connection);
    });
    socket.once('close', () => {
      clearTimeout(idle);
      clearTimeout(connection.destroying);
      this.#connections.delete(session);
    });
    if (this.#closing) socket.destroy();
  }

  /** Without calls, a connection that closes is destroyed soon, and any other one when it has been idle for a while. */
  #rest(connection: Connection): void {
    const { calls, idle, session, socket } = connection;
    if (calls.size > 0 || socket.destroyed) return;
    if (session.closed || session.destroyed) this.#destroySoon(connection);
    else idle.refresh();
  }

  /** A session that closes waits for the client to close its end; not every client does. */
  #destroySoon(connection: Connection): void {
    const { socket } = connection;
    connection.destroying ??= setTimeout(() => socket.destroy(), this.#deps.limits.closeMs);
  }

  #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // The end of the stream reports it.
    stream.on('error', () => undefined);
    const connection = this.#connections.get(stream.session as ServerHttp2Session);
    if (connection === undefined || stream.destroyed) {
      stream.destroy();
      return;
    }
    const refusal = httpRefusal(headers);
    if (refusal !== undefined) {
      stream.respond({ ':status': refusal }, { endStream: true });
      stream.close();
      return;
    }
    if (this.#calls >= this.#deps.limits.calls) {
      const failure = new RpcFailure('RESOURCE_EXHAUSTED', 'too many calls in flight');
      stream.respond({ ...responseHead, ...statusHeaders(failure) }, { endStream: true });
      stream.close();
      return;
    }
    const call = new ServedCall(this.#deps, stream, headers[':path'] ?? '');
    connection.calls.add(call);
    this.#calls += 1;
    stream.once('close', () => {
      connection.calls.delete(call);
      this.#calls -= 1;
      this.#rest(connection);
    });
    call.begin(headers);
  }
}
