// One HTTP exchange with the API server, over HTTP/2, HTTP/1.1 or in memory in tests. Types only.
// Invariants of every transport: aborting the signal ends the exchange and its body, and so does leaving the body early;
// failures are KubeletErrors of kind `unavailable`, except an abort, which rejects with the signal's reason.

export interface TransportRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface Transport {
  /** `host:port`, the host label of metrics. */
  readonly host: string;
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Reports a 401: credentials are reloaded or renewed before the next request. */
  unauthorized(): void;
  /** Drops every connection. Requests in flight fail; the next one opens a new connection. */
  closeConnections(): void;
}
