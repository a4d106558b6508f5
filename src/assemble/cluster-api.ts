// The connection to the API server as the rooms see it. Types only.
import type { ApiClient, Follow } from '../api/ports/api-client.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Component } from '../base/component.ts';
import type { CallRecorder } from '../base/in-flight-calls.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Tracer } from '../base/tracer.ts';
import type { LimitSettings } from '../edge/apiserver/api-limits.ts';
import type { ApiClientObserver } from '../edge/apiserver/client.ts';

export interface ClusterApi {
  readonly client: ApiClient;
  readonly follow: Follow;
  /** Announced after every new connection. */
  readonly connected: Subscribable<void>;
  /** Maintain the connection. Started before everything else. */
  readonly components?: readonly Component[];
  /** The client certificate in use, if the kubelet rotates it itself. */
  clientCertificate?(): { readonly notAfterMs: number } | undefined;
  close(): void;
}

interface OpenOptions {
  /** The rates of requests, read for each of them; without it, those of the start. */
  readonly inForce?: LimitSettings;
  readonly tracer?: Tracer | undefined;
  readonly calls?: CallRecorder | undefined;
}

export type OpenCluster = (
  observer: ApiClientObserver,
  metrics: Metrics,
  options?: OpenOptions,
) => ClusterApi;
