// Plugs the kubelet's identity into a connection to the API server.
import type { ClusterAccess } from '../api/ports/cluster-access.ts';
import type { OpenCluster } from '../assemble/cluster-api.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { loadClientIdentity } from '../certs/client-identity.ts';
import type { RunOutcome } from '../config/command-line/load-command-line.ts';
import { apiServerLimits } from '../edge/apiserver/api-limits.ts';
import type { ApiClientObserver } from '../edge/apiserver/client.ts';
import { type ApiServer, openApiServer, userAgentOf } from '../edge/apiserver/open-api-server.ts';
import { certificateMaker } from '../edge/certs/certificate-host.ts';
import { identityFiles } from '../edge/certs/identity-files.ts';

interface OpenClusterInput extends Pick<RunOutcome, 'config' | 'flags' | 'gates' | 'version'> {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** Rejects when the kubeconfig cannot be used. An API server that does not answer does not delay the start. */
export async function loadCluster(input: OpenClusterInput): Promise<OpenCluster> {
  const { clock, config, flags, gates, log, nodeName, random, version } = input;
  const { bootstrapKubeconfig, certDir, kubeconfig } = flags;
  const open = (
    access: ClusterAccess,
    observer?: ApiClientObserver,
    { calls, inForce = config, tracer }: NonNullable<Parameters<OpenCluster>[2]> = {},
  ): ApiServer => {
    const rates = apiServerLimits(inForce);
    return openApiServer({
      access,
      clock,
      log: log.with({ component: 'apiserver' }),
      userAgent: userAgentOf(version, ''),
      gates,
      calls,
      limits: rates.limits,
      get heartbeatTimeoutMs() {
        return rates.heartbeatTimeoutMs;
      },
      ...(observer === undefined ? {} : { observer }),
      tracer,
    });
  };
  const identity = await loadClientIdentity({
    settings: { nodeName, kubeconfig, bootstrapKubeconfig, certDir, rotate: config.rotateCertificates },
    files: identityFiles(clock),
    maker: certificateMaker,
    open: (access) => open(access),
    clock,
    random,
    log: log.with({ component: 'certs' }),
  });
  return (observer, metrics, options) => {
    const server = open(identity.access, observer, options);
    identity.connect(server);
    return {
      ...server,
      components: [...identity.measure(metrics), ...identity.components],
      clientCertificate: () => identity.access.live?.pair()?.facts,
      close: () => {
        server.close();
        identity.close();
      },
    };
  };
}
