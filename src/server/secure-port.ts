// The secure port, 10250: TLS, client certificates, authentication and authorization of every request.
// With --dashboard-address also the port of the node's page, which is served alike on an address that others can reach.
// Upstream: ListenAndServeKubeletServer in pkg/kubelet/server and its caller in cmd/kubelet/app.
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { Tracer } from '../base/tracer.ts';
import { ClientAuthorities, type ClientAuthoritiesDeps } from './client-authorities.ts';
import { isCrossSite } from './cross-site.ts';
import { errorResponse, type HttpHandler } from './http-message.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { HttpServer, type Listening } from './http-server.ts';
import { isRead } from './page-routes.ts';
import { type Admit, route } from './router.ts';
import { type RouteHandlers, type RouteSettings, routesOf } from './routes.ts';
import { type TlsConfiguration, type TlsSettings, tlsSettings } from './tls-settings.ts';
import { tracedRoutes } from './traced-routes.ts';
import { accessHandler } from './ui-access.ts';

interface SecurePortConfiguration extends Omit<RouteSettings, 'port' | 'gates'>, TlsConfiguration {
  readonly enableServer: boolean;
  readonly address: string;
  readonly port: number;
  readonly authentication: { readonly x509: { readonly clientCAFile: string } };
}

export interface SecureListenOptions extends TlsSettings {
  readonly host: string;
  readonly port: number;
  readonly flag: string;
  readonly handler: HttpHandler;
  /** Undefined if the port does not request client certificates. */
  readonly clientAuthorities: Pick<ClientAuthorities, 'pem' | 'changed'> | undefined;
  readonly onError: (err: unknown) => void;
}

export interface SecurePortDeps {
  readonly config: SecurePortConfiguration;
  readonly gates: RouteSettings['gates'] & { readonly ReloadKubeletClientCAFile: boolean };
  readonly handlers: RouteHandlers;
  /** The port of the node's page, if it is not on a loopback address. */
  readonly dashboard?: { readonly address: string; readonly port: number } | undefined;
  /** Authenticates and authorizes a request. */
  readonly admit: Admit;
  readonly metrics: Pick<HttpMetrics, 'instrument'>;
  readonly tracer?: Tracer | undefined;
  readonly host: {
    readonly listen: (options: SecureListenOptions) => Promise<Listening>;
    readonly textFile: ClientAuthoritiesDeps['file'];
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** The components of the port, in start order; none if enableServer is false. */
export function securePort(deps: SecurePortDeps): readonly Component[] {
  const { clock, config, dashboard, gates, host, log } = deps;
  if (!config.enableServer) return [];
  const path = config.authentication.x509.clientCAFile;
  const authorities =
    path === ''
      ? undefined
      : new ClientAuthorities({
          path,
          reload: gates.ReloadKubeletClientCAFile,
          file: host.textFile,
          clock,
          log,
        });
  const servers = [server(deps, { name: 'secure', flag: '--port', type: 'readwrite' }, config, authorities)];
  if (dashboard !== undefined) {
    const of = { name: 'dashboard', flag: '--dashboard-port', type: 'dashboard' } as const;
    servers.push(server(deps, of, dashboard, authorities));
  }
  return authorities === undefined ? servers : [authorities, ...servers];
}

interface Identity {
  readonly name: string;
  readonly flag: string;
  readonly type: Parameters<HttpMetrics['instrument']>[0];
}

function server(
  deps: SecurePortDeps,
  { flag, name, type }: Identity,
  { address, port }: { readonly address: string; readonly port: number },
  clientAuthorities: ClientAuthorities | undefined,
): HttpServer {
  const { config, gates, host, log, metrics, tracer } = deps;
  const admit = exceptCrossSite(deps.admit);
  const handlers = { ...deps.handlers, uiAccess: accessHandler(admit, config.enableDebuggingHandlers) };
  const routes = routesOf({ ...config, port: 'secure', gates }, handlers);
  const handler = metrics.instrument(type, routes, route(tracedRoutes(routes, 'secure', tracer), admit));
  const listen = (handle: HttpHandler): Promise<Listening> =>
    host.listen({
      host: address,
      port,
      flag,
      handler: handle,
      clientAuthorities,
      ...tlsSettings(config),
      onError: (err) => log.error('Failed to handle request', { server: name, err }),
    });
  return new HttpServer({ name, handler, listen, log });
}

/**
 * differs from upstream: there a page of any site can run commands in containers with the client certificate of the browser's user,
 * since browsers send certificates with every request and may open WebSockets to every host.
 */
function exceptCrossSite(admit: Admit): Admit {
  return async (request, row) => {
    const changes = row.acts === true || !isRead(request);
    if (changes && isCrossSite(request.headers)) {
      return errorResponse(403, 'Requests from pages of other sites are rejected.');
    }
    return await admit(request, row);
  };
}
