// From --kubeconfig to the way to the API server, within the limits of the configuration.
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { RunOutcome } from '../config/load-command-line.ts';
import type { ApiClientObserver } from '../edge/apiserver/client.ts';
import { openApiServer, readKubeconfig, userAgentOf } from '../edge/apiserver/open-api-server.ts';
import type { ClusterApi } from './cluster.ts';

/** What a rate of 0 means to every client of Kubernetes; for events it means no limit. */
const defaultLimits = { qps: 5, burst: 10 };

/** Rejects when the kubeconfig cannot be used; that the server does not answer is no reason not to start. */
export async function clusterOf(
  { config, flags, version }: Pick<RunOutcome, 'config' | 'flags' | 'version'>,
  clock: Clock,
  log: Logger,
): Promise<(observer: ApiClientObserver) => ClusterApi> {
  const access = await accessOf(flags);
  const { eventBurst, eventRecordQPS, kubeAPIBurst, kubeAPIQPS } = config;
  const { nodeLeaseDurationSeconds, nodeStatusUpdateFrequency } = config;
  return (observer) =>
    openApiServer({
      access,
      clock,
      log: log.with({ component: 'apiserver' }),
      userAgent: userAgentOf(version, ''),
      limits: {
        requests: kubeAPIQPS === 0 ? defaultLimits : { qps: kubeAPIQPS, burst: kubeAPIBurst },
        events: { qps: eventRecordQPS, burst: eventBurst },
      },
      // A heartbeat that takes longer comes too late anyway.
      heartbeatTimeoutMs: Math.min(nodeStatusUpdateFrequency.ms, nodeLeaseDurationSeconds * 1000),
      observer,
    });
}

async function accessOf({
  bootstrapKubeconfig,
  kubeconfig,
}: Pick<RunOutcome['flags'], 'bootstrapKubeconfig' | 'kubeconfig'>) {
  try {
    return await readKubeconfig(kubeconfig);
  } catch (cause) {
    if (bootstrapKubeconfig === '') throw cause;
    // differs from upstream, which asks for a certificate here.
    const message = `no client certificate is requested with --bootstrap-kubeconfig yet, so ${kubeconfig} has to be there`;
    throw new KubeletError('invalid', 'NoKubeconfig', message, { cause });
  }
}
