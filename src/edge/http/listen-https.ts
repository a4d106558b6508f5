// The secure port: HTTP/1.1 and HTTP/2 over TLS, with certificates that may change while it runs. Upstream: the http.Server
// with TLSConfig in pkg/kubelet/server. Owns the listening socket and every connection on it. Invariants: those of
// listen-http.ts; a connection made under authorities that have changed since takes no further requests.
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
  /** Without one nobody can connect. */
  readonly certificate: ServingCertificate;
  /** Who vouches for clients; undefined where clients are not asked for certificates. */
  readonly clientAuthorities: { pem(): string; readonly changed: Subscribable<void> } | undefined;
  readonly minVersion: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  /** In OpenSSL's words. */
  readonly ciphers: string;
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
    // Who may come in is decided by request: a client without a certificate may have a token.
    rejectUnauthorized: false,
    // Not read from until it is its turn to shake hands.
    pauseOnConnect: true,
    handshakeTimeout: Math.min(limits.headersTimeoutMs, limits.unknownIdleMs),
    maxHeaderListPairs: 200,
    settings: {
      maxConcurrentStreams: limits.unknownStreams,
      maxHeaderListSize: limits.headerBytes,
      enablePush: false,
    },
  });
  // Of HTTP/1.1 on this kind of server, which takes them only so.
  Object.assign(server, serverOptions(limits));
  server.maxConnections = limits.connections;
  followTimeouts(server, connections, limits);
  const know = (connection: Connection, socket: TLSSocket): void => {
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
    if (socket.alpnProtocol === 'h2') hangUp(socket, limits.closeMs);
    else know(socket, socket);
  });
  server.on('session', (session: ServerHttp2Session) => know(session, session.socket as TLSSocket));
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

/** An HTTP/2 session has few streams and few frames that are no requests, until its client is admitted. */
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
  const { certificate, ciphers, clientAuthorities, minVersion } = options;
  const pair = certificate.current();
  return {
    minVersion,
    ciphers,
    honorCipherOrder: true,
    // A session that is resumed would bring along what was verified by authorities of then.
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
      // What was there before stays in use.
      options.onError?.(err);
      return false;
    }
  };
  // There may be a certificate by now that was not there when the context was made.
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
 * After a frame that violates the protocol, Node sends GOAWAY and reads no more: it neither ends the session nor notices that
 * the client has gone. Only an unanswered PING shows that.
 */
const mostUnansweredPings = 3;

/** A silent stream is no idle connection; HTTP/2 counts by its session, HTTP/1.1 by its socket. */
function followTimeouts(server: Http2SecureServer, connections: HttpConnections, limits: HttpLimits): void {
  server.setTimeout(limits.stalledMs);
  server.on('session', (session: ServerHttp2Session) => {
    let unansweredPings = 0;
    session.setTimeout(limits.idleMs);
    session.on('timeout', () => {
      if (connections.isIdle(session)) session.close();
      else if (unansweredPings >= mostUnansweredPings) session.destroy();
      else {
        unansweredPings++;
        session.ping((err) => {
          if (err === null) unansweredPings = 0;
        });
        // What is under way may end without a byte, and then nothing would begin to count again.
        session.setTimeout(limits.idleMs);
      }
    });
  });
  // Tells of sessions too, but of each only once; without anybody who hears it, Node would end them.
  server.on('timeout', (connection: unknown) => {
    if ('destroySoon' in (connection as Connection)) (connection as Socket).destroy();
  });
}

/** A session that has said its last waits for its client to say so, too, and that not for ever. */
function hangUp(socket: TLSSocket, withinMs: number): void {
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
