// What clients of a local gRPC server may use. The socket's directory admits root only, so the limits guard against clients that
// hang or are broken, not against floods.

export interface GrpcLimits {
  readonly connections: number;
  /** Concurrent calls per connection; HTTP/2 clients queue further ones. */
  readonly streams: number;
  /** Of all connections together; further calls fail with RESOURCE_EXHAUSTED. */
  readonly calls: number;
  /** All headers of a call. */
  readonly headerBytes: number;
  readonly headerPairs: number;
  /** A request message; grpc-go's default. */
  readonly requestBytes: number;
  /** From the headers of a call to the end of its request. */
  readonly requestMs: number;
  /** A connection without calls is closed after this time; clients reconnect. */
  readonly idleMs: number;
  /** How long a client may leave a pending message unread. */
  readonly stalledMs: number;
  /** How long in-flight unary calls may take when the server closes. */
  readonly closeMs: number;
}

export const defaultGrpcLimits: GrpcLimits = {
  connections: 256,
  streams: 100,
  calls: 512,
  headerBytes: 16 * 1024,
  headerPairs: 64,
  requestBytes: 4 * 1024 * 1024,
  requestMs: 20_000,
  idleMs: 300_000,
  stalledMs: 120_000,
  closeMs: 2_000,
};
