// The connection to the API server as the rooms see it. Types only.
import type { ApiClient, Follow } from '../api/ports/api-client.ts';
import type { Component } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';
import type { ApiClientObserver } from '../edge/apiserver/client.ts';

/** The connection to the API server. */
export interface ClusterApi {
  readonly client: ApiClient;
  readonly follow: Follow;
  /** What keeps the connection open: started before everything else. */
  readonly components?: readonly Component[];
  close(): void;
}

export type OpenCluster = (observer: ApiClientObserver, metrics: Metrics) => ClusterApi;
