// One HTTP exchange with the API server, whatever carries it: HTTP/2, HTTP/1.1, or the memory of a test. Types only.
// Invariants of every transport: aborting the signal ends the exchange and its body; leaving the body early does, too;
// failures are KubeletErrors of kind `unavailable`, except an abort, which rejects with the signal's reason.

export interface TransportRequest {
  readonly method: string;
  /** With the query. */
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
  /** `host:port`, as metrics name the server. */
  readonly host: string;
  send(request: TransportRequest): Promise<TransportResponse>;
  /** The server did not accept our credentials: those that can be made anew are, before the next request. */
  unauthorized(): void;
  /** Drops every connection; requests under way fail, the next one makes a new connection. */
  closeConnections(): void;
}
