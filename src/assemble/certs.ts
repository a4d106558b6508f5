// Plugs the secure port's certificate together.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { type CertificateHost, createServing } from '../certs/serving-certificate.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import { isSelfSigned } from '../config/load/load.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { ClusterApi } from './cluster-api.ts';

interface ServingInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly nodeName: string;
  readonly machine: { readonly addresses: readonly string[] };
  readonly host: CertificateHost;
  /** Undefined on a node without an API server. */
  readonly api: ClusterApi | undefined;
  readonly ownNode: Pick<OwnNode, 'get' | 'changed'> | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

export function assembleServing(input: ServingInput): ReturnType<typeof createServing> {
  const { api, clock, config, flags, gates, host, log, machine, metrics, nodeName, ownNode, random } = input;
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
    host,
    connection: api,
    metrics,
    clock,
    random,
    log: log.with({ component: 'certs' }),
  });
}
