// The secure port's certificate: from files, self-signed, or signed by the cluster.
import { createServing } from '../certs/serving-certificate.ts';
import { isSelfSigned } from '../config/load/load.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';

interface ServingRooms {
  readonly api: ClusterApi | undefined;
  readonly ownNode: OwnNode;
  readonly metrics: KubeletMetrics;
}

type ServingInput = Pick<
  AssembleInput,
  'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'machine' | 'nodeName' | 'random'
>;

export function assembleServing(
  input: ServingInput,
  { api, metrics, ownNode }: ServingRooms,
): ReturnType<typeof createServing> {
  const { clock, config, edges, flags, gates, log, machine, nodeName, random } = input;
  return createServing({
    settings: {
      enabled: config.enableServer,
      bootstrap: config.serverTLSBootstrap,
      selfSigned: isSelfSigned(config, flags),
      certFile: config.tlsCertFile,
      keyFile: config.tlsPrivateKeyFile,
      certDir: flags.certDir,
      reload: gates.ReloadKubeletServerCertificateFile,
      allowDnsOnly: gates.AllowDNSOnlyNodeCSR,
    },
    node: { name: nodeName, hostAddresses: machine.addresses, own: ownNode },
    host: edges.certs,
    connection: api,
    metrics: metrics.registry,
    clock,
    random,
    log: log.with({ component: 'certs' }),
  });
}
