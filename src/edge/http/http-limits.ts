// Limits of the kubelet's ports per client. Upstream: the http.Server in pkg/kubelet/server.

export interface HttpLimits {
  /** A request line with its headers. */
  readonly headerBytes: number;
  /** A request body that no handler reads; it is discarded. */
  readonly bodyBytes: number;
  /** From the first byte of a request to the last of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** Between two requests on one connection. */
  readonly idleMs: number;
  /** How long a client may leave a pending response unread. */
  readonly stalledMs: number;
  /** The same for a stream: a user who follows a log may pause its output for a while. */
  readonly streamStalledMs: number;
  /** In total, including admitted clients; further connections are closed at once. */
  readonly connections: number;
  /** How long in-flight responses may take when the server closes. */
  readonly closeMs: number;

  // The rest applies to clients that are not admitted, which on a port without authentication are all: see peer-limits.ts.

  /** Concurrent connections in total, and per address. */
  readonly unknownConnections: number;
  readonly unknownConnectionsPerPeer: number;
  /** Per address from which a client was admitted recently, not counting admitted connections. */
  readonly knownPeerConnections: number;
  /** Between two requests, and before the first. */
  readonly unknownIdleMs: number;
  /** All bytes that a client may send before it is admitted. */
  readonly unknownBytes: number;
  /** TLS handshakes of unknown addresses in total, per unknown address, and of known addresses in total. */
  readonly handshakesPerSecond: number;
  readonly handshakesPerPeerPerSecond: number;
  readonly knownHandshakesPerSecond: number;
  /** Handshakes that start together, of known and of unknown addresses: each blocks the event loop for a millisecond or more. */
  readonly handshakesAtOnce: number;
  /** A client that sends more is disconnected. */
  readonly unknownRequestsPerSecond: number;
  readonly unknownRequestsPerPeerPerSecond: number;
  readonly unknownRequestsInFlight: number;
  readonly unknownRequestsInFlightPerPeer: number;
  /** Responses that clients have not read yet. */
  readonly unknownHeldBytes: number;
  /** Per HTTP/2 session. */
  readonly unknownStreams: number;
  readonly admittedStreams: number;
  /** PING and SETTINGS frames per HTTP/2 session before its client is admitted. */
  readonly unknownControlFrames: number;
  /** Of all admitted clients together. */
  readonly requestsInFlight: number;
  /** Requests on one HTTP/1.1 connection that are sent before the first of them is answered. */
  readonly pipelined: number;
  /** The share of the event loop's time in which requests of clients that are not admitted are handled. */
  readonly unknownShare: number;
}

/** Generous for scrapers and users, tight for clients that only hold resources. */
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
