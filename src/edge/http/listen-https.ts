// Listens for HTTP/1.1 and HTTP/2 over TLS, with certificates that may change at run time. Upstream: the http.Server with
// TLSConfig in pkg/kubelet/server. Owns the listening socket and every connection on it. Invariants: those of listen-http.ts; a
// connection that was verified by authorities that have changed since accepts no further requests.
import { constants as tls } from 'node:crypto';
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { PeerCertificate, SecureContextOptions, TLSSocket } from 'node:tls';
import type { ServingCertificate } from '../../api/ports/certificates.ts';
import type { ClientCertificate } from '../../api/ports/http.ts';
import type { Subscribable } from '../../base/channel.ts';
import { type Connection, HttpConnections } from './http-connections.ts';
import { defaultHttpLimits, type HttpLimits } from './http-limits.ts';
import {
  bind,
  type HttpListener,
  type ListenHttpOptions,
  limitPeers,
  listening,
  serveRequests,
  serverOptions,
} from './listen-http.ts';
import { PacedTurns } from './paced-turns.ts';
import { type PeerClient, PeerLimits } from './peer-limits.ts';

export interface ListenHttpsOptions extends ListenHttpOptions {
  /** Without one, no client can connect. */
  readonly certificate: ServingCertificate;
  /** The authorities for client certificates; undefined if the port does not request them. */
  readonly clientAuthorities: { pem(): string; readonly changed: Subscribable<void> } | undefined;
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  /** In OpenSSL's notation. */
  readonly ciphers: string;
  /** Key exchange mechanisms in OpenSSL's notation; undefined means its defaults. */
  readonly groups?: string | undefined;
}

export async function listenHttps(options: ListenHttpsOptions): Promise<HttpListener> {
  const limits: HttpLimits = { ...defaultHttpLimits, ...options.limits };
  const connections = new HttpConnections();
  const peers = new PeerLimits(limits);
  const turns = new PacedTurns(limits.unknownShare);
  const certificates = new WeakMap<Connection, ClientCertificate | undefined>();
  const server = createSecureServer({
    ...contextOptions(options),
    allowHTTP1: true,
    requestCert: options.clientAuthorities !== undefined,
    // Decided per request: a client without a certificate may have a token.
    rejectUnauthorized: false,
    // Not read before it is its turn for the handshake.
    pauseOnConnect: true,
    handshakeTimeout: Math.min(limits.headersTimeoutMs, limits.unknownIdleMs),
    maxHeaderListPairs: 200,
    settings: {
      maxConcurrentStreams: limits.unknownStreams,
      maxHeaderListSize: limits.headerBytes,
      enablePush: false,
    },
  });
  // The options of HTTP/1.1, which this kind of server accepts only as properties.
  Object.assign(server, serverOptions(limits));
  server.maxConnections = limits.connections;
  followTimeouts(server, connections, limits);
  const register = (connection: Connection, socket: TLSSocket): void => {
    const certificate = clientCertificate(socket);
    certificates.set(connection, certificate);
    connections.add(connection);
    const client = peers.clientOf(socket);
    if (client === undefined) return;
    if (!('destroySoon' in connection)) limitSession(connection, client, limits);
    if (certificate !== undefined && certificate.problem === undefined) peers.admit(client);
  };
  server.on('connection', (socket: Socket) => connections.track(socket));
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, serverOptions(limits).keepAliveInitialDelay);
    if (socket.alpnProtocol === 'h2') closeAfterFinish(socket, limits.closeMs);
    else register(socket, socket);
  });
  server.on('session', (session: ServerHttp2Session) => register(session, session.socket as TLSSocket));
  const certificateOf = (connection: Connection): ClientCertificate | undefined =>
    certificates.get(connection);
  serveRequests(server, { ...options, limits, connections, peers, turns, certificateOf });
  limitPeers(server, peers, true);
  await bind(server, options);
  const stopFollowing = followCertificates(server, options, connections, certificates);
  const listener = listening(server, connections, peers, limits, options.onError);
  return {
    ...listener,
    close: () => {
      stopFollowing();
      return listener.close();
    },
  };
}

/** Limits an HTTP/2 session to few streams and few control frames until its client is admitted. */
function limitSession(session: ServerHttp2Session, client: PeerClient, limits: HttpLimits): void {
  let frames = 0;
  const onFrame = (): void => {
    if (++frames > limits.unknownControlFrames)
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  session.on('ping', onFrame);
  session.on('remoteSettings', onFrame);
  client.onAdmitted = () => {
    session.off('ping', onFrame);
    session.off('remoteSettings', onFrame);
    if (!session.destroyed) session.settings({ maxConcurrentStreams: limits.admittedStreams });
  };
}

function contextOptions(options: ListenHttpsOptions): SecureContextOptions {
  const { certificate, ciphers, clientAuthorities, groups, minVersion } = options;
  const pair = certificate.current();
  return {
    minVersion,
    ciphers,
    honorCipherOrder: true,
    ...(groups === undefined ? {} : { ecdhCurve: groups }),
    // A resumed session would keep the verification by earlier authorities.
    secureOptions: tls.SSL_OP_NO_TICKET,
    ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
    ...(clientAuthorities === undefined ? {} : { ca: clientAuthorities.pem() }),
  };
}

function followCertificates(
  server: Http2SecureServer,
  options: ListenHttpsOptions,
  connections: HttpConnections,
  certificates: WeakMap<Connection, ClientCertificate | undefined>,
): () => void {
  const renew = (): boolean => {
    try {
      server.setSecureContext(contextOptions(options));
      return true;
    } catch (err) {
      // The previous certificates stay in use.
      options.onError?.(err);
      return false;
    }
  };
  // A certificate may have arrived since the context was created.
  renew();
  const unsubscribe = [
    options.certificate.changed.subscribe(() => void renew()),
    options.clientAuthorities?.changed.subscribe(() => {
      if (renew()) connections.retire((connection) => certificates.get(connection) !== undefined);
    }),
  ];
  return () => {
    for (const each of unsubscribe) each?.();
  };
}

/**
 * After a frame that violates the protocol, Node sends GOAWAY and stops reading: it neither ends the session nor notices that
 * the client has disconnected. Only an unanswered PING shows that.
 */
const maxUnansweredPings = 3;

/** A connection with a silent stream is not idle; HTTP/2 times out per session, HTTP/1.1 per socket. */
function followTimeouts(server: Http2SecureServer, connections: HttpConnections, limits: HttpLimits): void {
  server.setTimeout(limits.stalledMs);
  server.on('session', (session: ServerHttp2Session) => {
    let unansweredPings = 0;
    session.setTimeout(limits.idleMs);
    session.on('timeout', () => {
      if (connections.isIdle(session)) session.close();
      else if (unansweredPings >= maxUnansweredPings) session.destroy();
      else {
        unansweredPings++;
        session.ping((err) => {
          if (err === null) unansweredPings = 0;
        });
        // In-flight exchanges may end without a byte, which would not restart the timeout.
        session.setTimeout(limits.idleMs);
      }
    });
  });
  // Also emitted for sessions, but only once each; without a listener, Node would end them.
  server.on('timeout', (connection: unknown) => {
    if ('destroySoon' in (connection as Connection)) (connection as Socket).destroy();
  });
}

/** Limits how long a finished session waits for its client to close the connection. */
function closeAfterFinish(socket: TLSSocket, withinMs: number): void {
  socket.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), withinMs);
    socket.once('close', () => clearTimeout(timer));
  });
}

const uidOid = '1.3.6.1.4.1.57683.2';

function clientCertificate(socket: TLSSocket): ClientCertificate | undefined {
  const peer: PeerCertificate | undefined = socket.getPeerCertificate(false);
  if (peer?.subject === undefined) return undefined;
  const subject = peer.subject as unknown as Readonly<Record<string, string | readonly string[]>>;
  return {
    commonName: values(subject['CN']).at(-1) ?? '',
    organizations: values(subject['O']),
    uid: values(subject[uidOid]).at(-1) ?? '',
    notBeforeMs: Date.parse(peer.valid_from),
    notAfterMs: Date.parse(peer.valid_to),
    sha256: peer.fingerprint256.replaceAll(':', '').toLowerCase(),
    problem: socket.authorized ? undefined : String(socket.authorizationError),
  };
}

function values(field: string | readonly string[] | undefined): readonly string[] {
  return typeof field === 'string' ? [field] : (field ?? []);
}
