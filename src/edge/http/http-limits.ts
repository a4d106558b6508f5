// How much one client may take of the kubelet's ports. Upstream: the http.Server in pkg/kubelet/server.

export interface HttpLimits {
  /** A request line with its headers. */
  readonly headerBytes: number;
  /** A request's body that nobody asked for; it is read and thrown away. */
  readonly bodyBytes: number;
  /** From the first byte of a request to the last of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Between two requests on one connection. */
  readonly idleMs: number;
  /** Without a byte taken by a client for which there are some. */
  readonly stalledMs: number;
  /** The same for a stream: somebody who reads a log may stop its output for a while. */
  readonly streamStalledMs: number;
  /** Altogether, admitted ones included; beyond it connections are closed as they are accepted. */
  readonly connections: number;
  /** How long answers under way may take when the server closes. */
  readonly closeMs: number;

  // The rest is about clients that are not admitted yet, and on a port without authentication about all: see peer-limits.ts.

  /** Connections at once of all of them, and of one address. */
  readonly unknownConnections: number;
  readonly unknownConnectionsPerPeer: number;
  /** Of an address from which a client was admitted lately, these apart. */
  readonly knownPeerConnections: number;
  /** Between two requests, and until the first. */
  readonly unknownIdleMs: number;
  /** Everything a client may send before it is admitted. */
  readonly unknownBytes: number;
  /** TLS handshakes of all addresses, of each, and of those that are known. */
  readonly handshakesPerSecond: number;
  readonly handshakesPerPeerPerSecond: number;
  readonly knownHandshakesPerSecond: number;
  /** Handshakes that start together, of known addresses and of the others: each takes a millisecond of the event loop or more. */
  readonly handshakesAtOnce: number;
  /** A client that sends more is disconnected. */
  readonly unknownRequestsPerSecond: number;
  readonly unknownRequestsPerPeerPerSecond: number;
  readonly unknownRequestsInFlight: number;
  readonly unknownRequestsInFlightPerPeer: number;
  /** Answers they have yet to read. */
  readonly unknownHeldBytes: number;
  /** On one HTTP/2 session. */
  readonly unknownStreams: number;
  readonly admittedStreams: number;
  /** PING and SETTINGS frames of one HTTP/2 session before it is admitted. */
  readonly unknownControlFrames: number;
  /** Of admitted clients, altogether. */
  readonly requestsInFlight: number;
  /** Requests on one HTTP/1.1 connection that were sent before the first of them was answered. */
  readonly pipelined: number;
  /** The share of the event loop's time in which requests of clients that are not admitted are handled. */
  readonly unknownShare: number;
}

/** Generous for scrapers and people, tight for clients that only hold on. */
export const defaultHttpLimits: HttpLimits = {
  headerBytes: 64 * 1024,
  bodyBytes: 1024 * 1024,
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 60_000,
  idleMs: 90_000,
  stalledMs: 120_000,
  streamStalledMs: 4 * 3_600_000,
  connections: 2048,
  closeMs: 2_000,
  unknownConnections: 192,
  unknownConnectionsPerPeer: 48,
  knownPeerConnections: 256,
  unknownIdleMs: 20_000,
  unknownBytes: 2 * 1024 * 1024,
  handshakesPerSecond: 50,
  handshakesPerPeerPerSecond: 20,
  knownHandshakesPerSecond: 200,
  handshakesAtOnce: 20,
  unknownRequestsPerSecond: 500,
  unknownRequestsPerPeerPerSecond: 250,
  unknownRequestsInFlight: 128,
  unknownRequestsInFlightPerPeer: 48,
  unknownHeldBytes: 32 * 1024 * 1024,
  unknownStreams: 16,
  admittedStreams: 250,
  unknownControlFrames: 100,
  requestsInFlight: 1024,
  pipelined: 4,
  unknownShare: 0.25,
};
