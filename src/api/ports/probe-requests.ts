// The calls that execute probes, one per kind. Types only: probes/ calls them, edge/probe implements them.
// Upstream: pkg/probe (Prober interfaces).

/** The result of one attempt. A warning counts as success and emits an event. */
export interface ProbeAnswer {
  readonly result: 'success' | 'warning' | 'failure';
  /** Part of the event of a failure or warning; at most 10 KiB. */
  readonly output: string;
  /** The attempt failed by timeout. */
  readonly timedOut?: true;
}

/** A GET to a server inside a pod. */
export interface PodHttpRequest {
  readonly scheme: 'http' | 'https';
  /** An address or host name, without brackets. */
  readonly host: string;
  readonly port: number;
  /** As in the pod spec: may have a query, and may lack the leading slash. */
  readonly path: string;
  /** In order, with repetitions. `Host` replaces the header, not the host that is connected to. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface HttpProbeRequest extends PodHttpRequest {
  readonly timeoutMs: number;
}

export interface TcpProbeRequest {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

export interface GrpcProbeRequest {
  readonly host: string;
  readonly port: number;
  readonly service: string;
  readonly timeoutMs: number;
}

/**
 * Each call settles by its timeout, or soon after the signal is aborted, and closes its connection. An unexpected response is a
 * failure. A rejection means an unknown result; its reason is `ProbeBodyFailed` if the response was cut off.
 */
export interface ProbeEdges {
  http(request: HttpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
  tcp(request: TcpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
  grpc(request: GrpcProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
}
