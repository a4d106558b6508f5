// The kubelet's ports: what they tell, who answers what, and who may ask on the secure one.
import { randomBytes } from 'node:crypto';
import type { ApiClient } from '../api/ports/api-client.ts';
import type { ServingCertificate } from '../api/ports/certificates.ts';
import type { HttpHandler } from '../api/ports/http.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { ParsedArgs } from '../config/command-line/parse-args.ts';
import { maskedConfiguration } from '../config/configz.ts';
import { renderFlagz } from '../config/flagz.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { ProxyUpgrade } from '../edge/http/http-exchange.ts';
import type { ListenHttpsOptions } from '../edge/http/listen-https.ts';
import { buildAdmission } from '../server/auth/build-admission.ts';
import { ClientAuthorities, type ClientAuthoritiesDeps } from '../server/client-authorities.ts';
import { type KnowledgeDeps, knowledgeHandlers } from '../server/handlers.ts';
import type { HealthCheck } from '../server/health.ts';
import { HttpMetrics } from '../server/http-metrics.ts';
import { HttpServer, type Listening } from '../server/http-server.ts';
import { HealthSlis } from '../server/node/health-slis.ts';
import { type PlainPortsDeps, plainPorts } from '../server/plain-ports.ts';
import { route } from '../server/router.ts';
import { type RouteHandlers, routesOf } from '../server/routes.ts';
import { tlsSettings } from '../server/tls-settings.ts';

interface ServerInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly args: ParsedArgs;
  readonly nodeName: string;
  readonly edges: {
    readonly listen: PlainPortsDeps['listen'];
    readonly listenSecure: (options: ListenHttpsOptions) => Promise<Listening>;
    readonly textFile: ClientAuthoritiesDeps['file'];
  };
  /** What the kubelet knows, apart from its configuration. */
  readonly knowledge: Omit<KnowledgeDeps, 'configz' | 'flagz' | 'slis'>;
  /** Who answers the other rows of the route table: logs, streams, statistics. */
  readonly handlers: RouteHandlers;
  /** Who hands upgraded connections on to the runtime's streaming server. */
  readonly proxyUpgrade: ProxyUpgrade;
  readonly certificate: ServingCertificate;
  /** Undefined on a node that stands alone. */
  readonly api: Pick<ApiClient, 'create'> | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** differs from upstream: there nothing on the node tells that the control plane takes it for dead. */
export function leaseChecks(
  cluster: { leaseHealth(): string | undefined } | undefined,
): readonly HealthCheck[] {
  // A restart of the kubelet does not bring an API server back, so it does not count.
  return cluster === undefined ? [] : [{ name: 'lease', check: () => cluster.leaseHealth(), advisory: true }];
}

export function assembleServer(input: ServerInput): readonly Component[] {
  const { args, clock, config, edges, gates, knowledge, log } = input;
  const own = knowledgeHandlers({
    ...knowledge,
    slis: new HealthSlis(),
    configz: () => ({ kubeletconfig: maskedConfiguration(config) }),
    flagz: gates.ComponentFlagz ? () => renderFlagz(args) : undefined,
  });
  const handlers: RouteHandlers = { ...own, ...input.handlers };
  const metrics = new HttpMetrics(input.metrics, clock);
  return [
    ...securePort(input, handlers, metrics),
    ...plainPorts({ config, listen: edges.listen, log, checks: knowledge.checks, handlers, metrics }),
  ];
}

/** Also built when the port is not to be opened: a configuration that cannot work is told in either case. */
function securePort(input: ServerInput, handlers: RouteHandlers, metrics: HttpMetrics): readonly Component[] {
  const { clock, config, edges, flags, gates, log } = input;
  const admit = buildAdmission({
    ...input,
    settings: {
      fineGrained: gates.KubeletFineGrainedAuthz,
      allowGetStreams: flags.allowGetStreams,
      certificateUids: gates.AllowParsingUserUIDFromCertAuth,
    },
    hashKey: randomBytes(32),
    random: Math.random,
  });
  if (!config.enableServer) return [];
  const path = config.authentication.x509.clientCAFile;
  const authorities =
    path === '' ? undefined : new ClientAuthorities({ path, file: edges.textFile, clock, log });
  const routes = routesOf({ ...config, port: 'secure', gates }, handlers);
  const name = 'secure';
  const listen = (handler: HttpHandler): Promise<Listening> =>
    edges.listenSecure({
      host: config.address,
      port: config.port,
      flag: '--port',
      handler,
      certificate: input.certificate,
      proxyUpgrade: input.proxyUpgrade,
      clientAuthorities: authorities,
      ...tlsSettings(config),
      onError: (err) => log.error('Request failed', { server: name, err }),
    });
  const handler = metrics.counted('readwrite', routes, route(routes, admit));
  return [
    ...(authorities === undefined ? [] : [authorities]),
    new HttpServer({ name, handler, listen, log }),
  ];
}
