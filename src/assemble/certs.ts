// Where the secure port's certificate comes from: the files that are named, a self-signed pair, or the cluster's authority.
import type { CertificatePair, ServingCertificate } from '../api/ports/certificates.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { type CertificateMaker, CertificateManager, type PairStore } from '../certs/certificate-manager.ts';
import { measureServingCertificate } from '../certs/certificate-metrics.ts';
import { servingSigner, servingTemplate } from '../certs/certificate-request.ts';
import { ServingFiles, type ServingPairFiles } from '../certs/serving-files.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import { isSelfSigned } from '../config/load/load.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { ClusterApi } from './cluster.ts';
import { requestApi } from './cluster-api.ts';

/** What certificates need of the outside. */
export interface CertificateHost {
  servingFiles(paths: { readonly certFile: string; readonly keyFile: string }): ServingPairFiles;
  selfSigned(options: {
    readonly host: string;
    readonly ips: readonly string[];
    readonly nowMs: number;
  }): Promise<CertificatePair>;
  store(place: {
    readonly directory: string;
    readonly prefix: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  }): PairStore;
  readonly maker: CertificateMaker;
}

interface ServingInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly nodeName: string;
  readonly machine: { readonly addresses: readonly string[] };
  readonly host: CertificateHost;
  /** Undefined on a node that stands alone. */
  readonly api: ClusterApi | undefined;
  readonly ownNode: Pick<OwnNode, 'get' | 'changed'> | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

interface Serving {
  readonly certificate: ServingCertificate;
  /** To be started before the secure port. */
  readonly components: readonly Component[];
}

const noCertificate: ServingCertificate = { current: () => undefined, changed: new Channel<void>() };

export function assembleServing(input: ServingInput): Serving {
  if (!input.config.enableServer) return { certificate: noCertificate, components: [] };
  const log = input.log.with({ component: 'certs' });
  const component = input.config.serverTLSBootstrap ? signed(input, log) : fromFiles(input, log);
  return { certificate: component, components: [component] };
}

function fromFiles(
  { clock, config, flags, gates, host, machine, nodeName, random }: ServingInput,
  log: Logger,
): ServingFiles {
  return new ServingFiles({
    files: host.servingFiles({ certFile: config.tlsCertFile, keyFile: config.tlsPrivateKeyFile }),
    make: isSelfSigned(config, flags)
      ? (nowMs) => host.selfSigned({ host: nodeName, ips: machine.addresses, nowMs })
      : undefined,
    reload: gates.ReloadKubeletServerCertificateFile,
    random,
    clock,
    log,
  });
}

/** By the cluster's authority, for the addresses that the node's object shows. */
function signed(input: ServingInput, log: Logger): CertificateManager {
  const { api, clock, config, flags, gates, host, metrics, nodeName, ownNode, random } = input;
  const manager = new CertificateManager({
    name: 'serving',
    signerName: servingSigner,
    template: () =>
      // Without a cluster nobody signs anything: what the store has is all there is.
      servingTemplate(nodeName, ownNode?.get()?.status?.addresses ?? [], gates.AllowDNSOnlyNodeCSR),
    store: host.store({
      directory: flags.certDir,
      prefix: 'kubelet-server',
      certFile: config.tlsCertFile,
      keyFile: config.tlsPrivateKeyFile,
    }),
    maker: host.maker,
    pendingKey: undefined,
    api: async () => {
      if (api === undefined) throw new KubeletError('unavailable', 'NoCluster', 'there is no API server');
      return requestApi(api);
    },
    rotate: true,
    exitAfterMs: undefined,
    random,
    clock,
    log,
  });
  ownNode?.changed.subscribe(() => manager.poke());
  measureServingCertificate(metrics, manager);
  return manager;
}
