// The connection to the API server as the rooms see it. Types only.
import type { ApiClient, Follow } from '../api/ports/api-client.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Component } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Tracer } from '../base/tracer.ts';
import type { ApiClientObserver } from '../edge/apiserver/client.ts';

export interface ClusterApi {
  readonly client: ApiClient;
  readonly follow: Follow;
  /** Announced after every new connection. */
  readonly connected: Subscribable<void>;
  /** Maintain the connection. Started before everything else. */
  readonly components?: readonly Component[];
  close(): void;
}

export type OpenCluster = (observer: ApiClientObserver, metrics: Metrics, tracer?: Tracer) => ClusterApi;
