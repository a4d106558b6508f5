// A request to one of the kubelet's ports and its answer, as plain data: features decide, the edge that owns the socket reads
// and writes (edge/host/listen-http.ts, edge/host/listen-https.ts). Types only.

export interface HttpRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Aborted when the client goes away before its answer is complete, and when the server closes. */
  readonly signal: AbortSignal;
  /** Whether the client asks to speak another protocol on this connection (SPDY, WebSocket). */
  readonly upgrade: boolean;
  /** The client's TLS certificate; undefined where it gave none. */
  readonly certificate: ClientCertificate | undefined;
  /** The address it came from, or the network that counts as one client; see edge/host/peer-address.ts. */
  readonly peer?: string;
  /** To be called once the client is known and may do what it asks: it is no longer limited as a stranger. */
  admitted?(): void;
  /** The whole body, at most `mostBytes` long. A body that nobody asks for is read past. */
  readBody(mostBytes: number): Promise<Uint8Array>;
}

/** A client's certificate as TLS checked it against the authorities the server trusts for clients. */
export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** What the certificate's subject names by the OID of Kubernetes' UIDs; empty where it does not. */
  readonly uid: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SHA-256 over the whole certificate, lower-case hex. */
  readonly sha256: string;
  /** Why it proves nothing: no authority vouches for it, it is not for clients, it has expired; undefined when it does. */
  readonly problem: string | undefined;
}

/** What a client gets, bit by bit: one chunk is asked for when the one before was taken. */
export type HttpStream = AsyncIterable<Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream's headers are sent at once, and its iterator is returned when the client goes away. */
  readonly body: string | Uint8Array | HttpStream;
}

/** Instead of an answer: connect this client with the server at that URL, which speaks the protocol it asks for. */
interface ProxyAnswer {
  readonly proxyTo: string;
}

export type HttpAnswer = HttpResponse | ProxyAnswer;

export type HttpHandler = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;
