// Opens the connections that several rooms share (API server, CRI, cgroups) and instruments their calls.
import { restClientMetrics } from '../edge/apiserver/metrics.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { timedCgroups } from '../metrics/timed-calls.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput, Edges } from './input.ts';

interface OpenEdges {
  readonly cri: ReturnType<Edges['cri']>;
  /** Undefined on a machine without cgroups. */
  readonly cgroups: ReturnType<typeof timedCgroups>;
  /** Undefined on a standalone node. */
  readonly api: ClusterApi | undefined;
  /** Closes the connections, after every component has stopped. */
  readonly close: () => void;
}

export function openEdges(
  {
    clock,
    cluster,
    config,
    edges,
    gates,
    log,
    machine,
    tracer,
  }: Pick<AssembleInput, 'clock' | 'cluster' | 'config' | 'edges' | 'gates' | 'log' | 'machine' | 'tracer'>,
  metrics: KubeletMetrics,
): OpenEdges {
  const { calls } = edges;
  const options = { inForce: config, tracer, calls };
  const api = cluster?.(restClientMetrics(metrics.registry), metrics.registry, options);
  const cri = edges.cri({
    runtimeEndpoint: config.containerRuntimeEndpoint,
    imageEndpoint: config.imageServiceEndpoint,
    requestTimeoutMs: () => config.runtimeRequestTimeout.ms,
    observe: (observation) => metrics.observeRuntime(observation),
    calls,
    tracer,
    streamLists: gates.CRIListStreaming ? { log: log.with({ component: 'cri' }) } : undefined,
  });
  const cgroups = timedCgroups(
    edges.cgroups({ driver: config.cgroupDriver, pageSizes: machine.hugePageSizes }),
    metrics.work,
    clock,
  );
  const close = (): void => {
    cri.close();
    api?.close();
    cgroups?.close();
  };
  return { api, cri, cgroups, close };
}
