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
  readonly connections: number;
  /** How long answers under way may take when the server closes. */
  readonly closeMs: number;
}

/** Generous for scrapers and people, tight for who only holds on. */
export const defaultHttpLimits: HttpLimits = {
  headerBytes: 64 * 1024,
  bodyBytes: 1024 * 1024,
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 60_000,
  idleMs: 90_000,
  stalledMs: 120_000,
  streamStalledMs: 4 * 3_600_000,
  connections: 1024,
  closeMs: 2_000,
};
