// The kubelet's ports: secure (10250), read-only (10255), health (10248), the node's page and the local socket, over one set of handlers.
import type { ServingCertificate } from '../api/ports/certificates.ts';
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { AuthMetrics } from '../server/auth/auth-metrics.ts';
import { buildAdmission } from '../server/auth/build-admission.ts';
import type { HealthCheck } from '../server/health.ts';
import { HttpMetrics } from '../server/http-metrics.ts';
import { dashboardAt, pagePorts } from '../server/page-ports.ts';
import { plainPorts } from '../server/plain-ports.ts';
import type { RouteHandlers } from '../server/routes.ts';
import { securePort } from '../server/secure-port.ts';
import { streamProxyOptions } from '../server/streams/stream-handlers.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { Dashboard } from './dashboard.ts';
import type { AssembleInput } from './input.ts';

interface ServerRooms {
  readonly checks: readonly HealthCheck[];
  readonly handlers: RouteHandlers;
  readonly certificate: ServingCertificate;
  readonly api: ClusterApi | undefined;
  /** For acting on the loopback port of the node's page. */
  readonly token: Dashboard['token'];
  readonly metrics: KubeletMetrics;
}

type ServerInput = Pick<
  AssembleInput,
  'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'nodeName' | 'random' | 'tracer'
>;

export function assembleServer(input: ServerInput, rooms: ServerRooms): readonly Component[] {
  const { clock, config, edges, flags, gates, nodeName, random, tracer } = input;
  const { api, certificate, checks, handlers, token } = rooms;
  const log = input.log.with({ component: 'server' });
  const metrics = new HttpMetrics(rooms.metrics.registry, clock);
  const proxyUpgrade = edges.upgradeProxy(streamProxyOptions(config, log));
  // Built even if enableServer is false: as upstream, an invalid configuration keeps the kubelet from starting.
  const admit = buildAdmission({
    config,
    api: api?.client,
    nodeName,
    settings: {
      fineGrained: gates.KubeletFineGrainedAuthz,
      allowGetStreams: flags.allowGetStreams,
      certificateUids: gates.AllowParsingUserUIDFromCertAuth,
    },
    hashKey: edges.randomBytes(32),
    random,
    metrics: new AuthMetrics(rooms.metrics.registry, clock),
    clock,
    log,
  });
  return [
    ...securePort({
      config,
      gates,
      handlers,
      dashboard: dashboardAt(flags, false),
      admit,
      metrics,
      tracer,
      host: {
        listen: (options) => edges.listenSecure({ ...options, certificate, proxyUpgrade }),
        textFile: edges.textFile,
      },
      clock,
      log,
    }),
    ...pagePorts({
      config,
      flags,
      gates,
      handlers,
      token,
      metrics,
      tracer,
      listen: (options) => edges.listen({ ...options, proxyUpgrade }),
      listenUnix: (options) => edges.listenUnix({ ...options, proxyUpgrade }),
      log,
    }),
    ...plainPorts({ config, listen: edges.listen, checks, handlers, metrics, tracer, log }),
  ];
}
