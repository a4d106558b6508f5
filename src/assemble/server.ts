// The kubelet's ports: secure (10250), read-only (10255) and health (10248), over one set of handlers.
import type { ApiClient } from '../api/ports/api-client.ts';
import type { ServingCertificate } from '../api/ports/certificates.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { ProxyUpgrade } from '../edge/http/http-exchange.ts';
import type { ListenHttpsOptions } from '../edge/http/listen-https.ts';
import type { UpgradeProxyOptions } from '../edge/http/upgrade-proxy.ts';
import { buildAdmission } from '../server/auth/build-admission.ts';
import type { HealthCheck } from '../server/health.ts';
import { HttpMetrics } from '../server/http-metrics.ts';
import type { Listening } from '../server/http-server.ts';
import { type PlainPortsDeps, plainPorts } from '../server/plain-ports.ts';
import type { RouteHandlers } from '../server/routes.ts';
import { type SecurePortDeps, securePort } from '../server/secure-port.ts';
import { streamProxyOptions } from '../server/streams/stream-handlers.ts';

interface ServerInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly nodeName: string;
  readonly edges: {
    readonly listen: PlainPortsDeps['listen'];
    readonly listenSecure: (options: ListenHttpsOptions) => Promise<Listening>;
    readonly textFile: SecurePortDeps['host']['textFile'];
    readonly upgradeProxy: (options: UpgradeProxyOptions) => ProxyUpgrade;
    readonly randomBytes: (count: number) => Uint8Array;
  };
  readonly checks: readonly HealthCheck[];
  readonly handlers: RouteHandlers;
  readonly certificate: ServingCertificate;
  /** Undefined on a standalone node. */
  readonly api: Pick<ApiClient, 'create'> | undefined;
  readonly metrics: Metrics;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

export function assembleServer(input: ServerInput): readonly Component[] {
  const { certificate, checks, clock, config, edges, flags, gates, handlers, log } = input;
  const metrics = new HttpMetrics(input.metrics, clock);
  const proxyUpgrade = edges.upgradeProxy(streamProxyOptions(config, log));
  // Built even if enableServer is false: as upstream, an invalid configuration keeps the kubelet from starting.
  const admit = buildAdmission({
    config,
    api: input.api,
    nodeName: input.nodeName,
    settings: {
      fineGrained: gates.KubeletFineGrainedAuthz,
      allowGetStreams: flags.allowGetStreams,
      certificateUids: gates.AllowParsingUserUIDFromCertAuth,
    },
    hashKey: edges.randomBytes(32),
    random: input.random,
    clock,
    log,
  });
  return [
    ...securePort({
      config,
      gates,
      handlers,
      admit,
      metrics,
      host: {
        listen: (options) => edges.listenSecure({ ...options, certificate, proxyUpgrade }),
        textFile: edges.textFile,
      },
      clock,
      log,
    }),
    ...plainPorts({ config, listen: edges.listen, checks, handlers, metrics, log }),
  ];
}
