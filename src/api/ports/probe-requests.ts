// How probes reach the outside: one narrow call per kind of probe. Types only: probes/ asks, edge/probe answers.
// Upstream: pkg/probe (Prober interfaces).

/** What one attempt said. A warning counts as success and is told in an event. */
export interface ProbeAnswer {
  readonly result: 'success' | 'warning' | 'failure';
  /** Goes into the event of a failure or warning; at most 10 KiB. */
  readonly output: string;
  /** A failure because the probe's time was up. */
  readonly timedOut?: true;
}

/** A GET to a server inside a pod. */
export interface PodHttpRequest {
  readonly scheme: 'http' | 'https';
  /** An address or a name, without brackets. */
  readonly host: string;
  readonly port: number;
  /** As the pod has it: with a query, with or without a slash in front. */
  readonly path: string;
  /** In order; a name may come several times. `Host` replaces the host that is told, not the one that is called. */
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
 * Each settles by its timeout, or soon after the signal is aborted, and leaves nothing open. A server that does not answer as
 * it should is a failure; rejecting means that nothing can be said: with the reason `ProbeBodyFailed` when an answer broke off.
 */
export interface ProbeEdges {
  http(request: HttpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
  tcp(request: TcpProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
  grpc(request: GrpcProbeRequest, signal: AbortSignal): Promise<ProbeAnswer>;
}
