// Requests to the kubelet's ports and their responses, as plain data: features decide, and edge/http owns the sockets
// (listen-http.ts, listen-https.ts). Types only.

export interface HttpRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Aborted if the client disconnects before the response is complete, and when the server closes. */
  readonly signal: AbortSignal;
  /** Whether the client requests a protocol upgrade (SPDY, WebSocket). */
  readonly upgrade: boolean;
  /** The client's TLS certificate, if it sent one. */
  readonly certificate: ClientCertificate | undefined;
  /** The remote address, or the network that counts as one client; see edge/http/peer-address.ts. */
  readonly peer?: string;
  /** For traces, which alone need it; to be called while the request is handled. Absent without a connection. */
  connection?(): HttpConnection;
  /** Call it once the client is authenticated and authorized: lifts the limits of unauthenticated clients. */
  admitted?(): void;
  /** The whole body, of at most `mostBytes`. An unread body is discarded. */
  readBody(mostBytes: number): Promise<Uint8Array>;
}

export interface HttpConnection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
  /** `1.0`, `1.1` or `2.0`. */
  readonly httpVersion: string;
}

/** A client certificate, verified against the server's client CAs. */
export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** The subject's value for the OID of Kubernetes' UIDs; empty without one. */
  readonly uid: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SHA-256 of the whole certificate, in lower-case hex. */
  readonly sha256: string;
  /** Why verification failed: unknown authority, wrong key usage, expired. Undefined if the certificate is valid. */
  readonly problem: string | undefined;
}

/** A streamed body. The next chunk is pulled when the client has taken the previous one. */
export type HttpStream = AsyncIterable<Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The headers of a stream are sent at once; its iterator is returned when the client disconnects. */
  readonly body: string | Uint8Array | HttpStream;
  /** How long the client may leave a stream unread before it is disconnected, if that is shorter than the port's own limit. */
  readonly stalledMs?: number;
}

/** The streams that a client of exec or attach requested. */
export interface RemoteCommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Instead of a response: proxy the upgraded connection to the server at this URL. */
export interface ProxyAnswer {
  readonly proxyTo: string;
  /**
   * The client's WebSocket ends here: its channels are translated to the streams of exec or attach, or the SPDY that it tunnels is
   * unwrapped. Undefined: the connection is proxied byte for byte.
   */
  readonly webSocket?: RemoteCommandStreams | 'tunnel';
}

export type HttpAnswer = HttpResponse | ProxyAnswer;

export type HttpHandler = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;
