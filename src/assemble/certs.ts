// Where the secure port's certificate comes from: the files that are named, a self-signed pair, or the cluster's authority.
import type { CertificatePair, ServingCertificate } from '../api/certificates.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log.ts';
import { ServingFiles, type ServingPairFiles } from '../certs/serving-files.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import { isSelfSigned } from '../config/load.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';

/** What certificates need of the outside. */
export interface CertificateHost {
  servingFiles(paths: { readonly certFile: string; readonly keyFile: string }): ServingPairFiles;
  selfSigned(options: {
    readonly host: string;
    readonly ips: readonly string[];
    readonly nowMs: number;
  }): Promise<CertificatePair>;
}

export interface ServingInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly nodeName: string;
  readonly machine: { readonly addresses: readonly string[] };
  readonly host: CertificateHost;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Serving {
  readonly certificate: ServingCertificate;
  /** To be started before the secure port. */
  readonly components: readonly Component[];
}

const noCertificate: ServingCertificate = { current: () => undefined, changed: new Channel<void>() };

export function assembleServing(input: ServingInput): Serving {
  const { clock, config, flags, gates, host, machine, nodeName } = input;
  if (!config.enableServer || config.serverTLSBootstrap)
    return { certificate: noCertificate, components: [] };
  const log = input.log.with({ component: 'certs' });
  const files = new ServingFiles({
    files: host.servingFiles({ certFile: config.tlsCertFile, keyFile: config.tlsPrivateKeyFile }),
    make: isSelfSigned(config, flags)
      ? (nowMs) => host.selfSigned({ host: nodeName, ips: machine.addresses, nowMs })
      : undefined,
    reload: gates.ReloadKubeletServerCertificateFile,
    random: Math.random,
    clock,
    log,
  });
  return { certificate: files, components: [files] };
}
