// From --kubeconfig to the way to the API server, within the limits of the configuration.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { measureClientCertificate } from '../certs/certificate-metrics.ts';
import type { RunOutcome } from '../config/command-line/load-command-line.ts';
import type { ApiClientObserver } from '../edge/apiserver/client.ts';
import type { ClusterAccess } from '../edge/apiserver/kubeconfig.ts';
import { type ApiServer, openApiServer, userAgentOf } from '../edge/apiserver/open-api-server.ts';
import { clientIdentity } from './client-certificate.ts';
import type { ClusterApi } from './cluster.ts';

/** What a rate of 0 means to every client of Kubernetes; for events it means no limit. */
const defaultLimits = { qps: 5, burst: 10 };

export type OpenCluster = (observer: ApiClientObserver, metrics: Metrics) => ClusterApi;

/** Rejects when the kubeconfig cannot be used; that the server does not answer is no reason not to start. */
export async function clusterOf(
  { config, flags, version }: Pick<RunOutcome, 'config' | 'flags' | 'version'>,
  nodeName: string,
  { clock, random, log }: { readonly clock: Clock; readonly random: () => number; readonly log: Logger },
): Promise<OpenCluster> {
  const { eventBurst, eventRecordQPS, kubeAPIBurst, kubeAPIQPS } = config;
  const { nodeLeaseDurationSeconds, nodeStatusUpdateFrequency } = config;
  const open = (access: ClusterAccess, observer?: ApiClientObserver): ApiServer =>
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
      ...(observer === undefined ? {} : { observer }),
    });
  const certs = log.with({ component: 'certs' });
  const identity = await clientIdentity({ config, flags, nodeName, open, clock, random, log: certs });
  return (observer, metrics) => {
    const server = open(identity.access, observer);
    const { manager } = identity;
    identity.use(server);
    if (manager !== undefined && config.rotateCertificates) measureClientCertificate(metrics, manager);
    return {
      ...server,
      components: manager === undefined ? [] : [manager],
      close: () => {
        server.close();
        identity.close();
      },
    };
  };
}
