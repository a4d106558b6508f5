// The secure port, 10250: TLS, client certificates, authentication and authorization of every request.
// Upstream: ListenAndServeKubeletServer in pkg/kubelet/server and its caller in cmd/kubelet/app.
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { Tracer } from '../base/tracer.ts';
import { ClientAuthorities, type ClientAuthoritiesDeps } from './client-authorities.ts';
import type { HttpHandler } from './http-message.ts';
import type { HttpMetrics } from './http-metrics.ts';
import { HttpServer, type Listening } from './http-server.ts';
import { type Admit, route } from './router.ts';
import { type RouteHandlers, type RouteSettings, routesOf } from './routes.ts';
import { type TlsConfiguration, type TlsSettings, tlsSettings } from './tls-settings.ts';
import { tracedRoutes } from './traced-routes.ts';

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
  const { admit, clock, config, gates, handlers, host, log, metrics, tracer } = deps;
  if (!config.enableServer) return [];
  const name = 'secure';
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
  const routes = routesOf({ ...config, port: 'secure', gates }, handlers);
  const listen = (handler: HttpHandler): Promise<Listening> =>
    host.listen({
      host: config.address,
      port: config.port,
      flag: '--port',
      handler,
      clientAuthorities: authorities,
      ...tlsSettings(config),
      onError: (err) => log.error('Failed to handle request', { server: name, err }),
    });
  const handler = metrics.instrument(
    'readwrite',
    routes,
    route(tracedRoutes(routes, 'secure', tracer), admit),
  );
  const server = new HttpServer({ name, handler, listen, log });
  return authorities === undefined ? [server] : [authorities, server];
}
