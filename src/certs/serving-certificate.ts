// Chooses the source of the secure port's certificate: the files that the configuration names, a self-signed pair, or a
// certificate that the cluster signs for the addresses of this node. Upstream: InitializeTLS in cmd/kubelet/app/server.go,
// NewKubeletServerCertificateManager in pkg/kubelet/certificate/kubelet.go.
import type { Node } from '../api/k8s/types.ts';
import type { CertificatePair, ServingCertificate } from '../api/ports/certificates.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { type CertificateMaker, CertificateManager, type PairStore } from './certificate-manager.ts';
import { measureServingCertificate } from './certificate-metrics.ts';
import { servingSigner, servingTemplate } from './certificate-request.ts';
import { type CsrConnection, csrApi } from './csr-api.ts';
import { ServingFiles, type ServingPairFiles } from './serving-files.ts';

/** Keys and certificates on this machine. */
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

interface ServingDeps {
  readonly settings: {
    /** Whether there is a secure port at all. */
    readonly enabled: boolean;
    /** serverTLSBootstrap: the cluster signs the certificate. */
    readonly bootstrap: boolean;
    /** No pair was configured: the kubelet signs its own. */
    readonly selfSigned: boolean;
    readonly certFile: string;
    readonly keyFile: string;
    readonly certDir: string;
    /** Whether changes of the files are picked up. */
    readonly reload: boolean;
    /** Whether a DNS name without an IP address is enough to request a certificate. */
    readonly allowDnsOnly: boolean;
  };
  readonly node: {
    readonly name: string;
    readonly hostAddresses: readonly string[];
    /** The Node object; undefined on a node without an API server. */
    readonly own: { get(): Node | undefined; readonly changed: Subscribable<void> } | undefined;
  };
  readonly host: CertificateHost;
  /** Undefined on a node without an API server. */
  readonly connection: CsrConnection | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

interface Serving {
  readonly certificate: ServingCertificate;
  /** To be started before the secure port. */
  readonly components: readonly Component[];
  /** The pair in use. */
  pair(): CertificatePair | undefined;
}

export function createServing(deps: ServingDeps): Serving {
  if (!deps.settings.enabled) return noServing();
  return deps.settings.bootstrap ? signedByCluster(deps) : fromFiles(deps);
}

function noServing(): Serving {
  const none = (): undefined => undefined;
  return { certificate: { current: none, changed: new Channel<void>() }, components: [], pair: none };
}

function fromFiles({ clock, host, log, node, random, settings }: ServingDeps): Serving {
  const { certFile, keyFile, reload, selfSigned } = settings;
  const certificate = new ServingFiles({
    files: host.servingFiles({ certFile, keyFile }),
    create: selfSigned
      ? (nowMs) => host.selfSigned({ host: node.name, ips: node.hostAddresses, nowMs })
      : undefined,
    reload,
    random,
    clock,
    log,
  });
  return { certificate, components: [certificate], pair: () => certificate.pair() };
}

function signedByCluster(deps: ServingDeps): Serving {
  const { clock, connection, host, log, metrics, node, random, settings } = deps;
  const { allowDnsOnly, certDir, certFile, keyFile } = settings;
  const manager = new CertificateManager({
    request: {
      name: 'serving',
      signerName: servingSigner,
      // Without an API server there is no Node object and so no template: the certificate in the store is used as it is.
      template: () => servingTemplate(node.name, node.own?.get()?.status?.addresses ?? [], allowDnsOnly),
      templateChanged: node.own?.changed,
    },
    keys: {
      store: host.store({ directory: certDir, prefix: 'kubelet-server', certFile, keyFile }),
      maker: host.maker,
      pendingKey: undefined,
    },
    api: async () => {
      if (connection === undefined)
        throw new KubeletError('unavailable', 'NoCluster', 'this kubelet has no API server');
      return csrApi(connection);
    },
    policy: { rotate: true, exitAfterMs: undefined },
    random,
    clock,
    log,
  });
  const components = [measureServingCertificate(metrics, manager), manager];
  return { certificate: manager, components, pair: () => manager.pair() };
}
