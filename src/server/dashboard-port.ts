// The port of the node's page on a loopback address (--dashboard-port): plain HTTP for browsers on this machine and through SSH tunnels.
// Upstream had cAdvisor's page on a port of its own until 1.12.
// Invariants: every client can read; only a client with the token can act; neither a page of another site nor a name that a DNS
// server points at this machine can do either.
import type { Logger } from '../base/log/log.ts';
import { bearerTokens } from './auth/authenticate.ts';
import { hasForeignOrigin, isLoadedByOthers, isLoopbackHost } from './cross-site.ts';
import { errorResponse, type HttpAnswer, type HttpHandler, type HttpRequest } from './http-message.ts';
import { HttpServer, type Listening } from './http-server.ts';
import { type PageRoutesDeps, pageHandler } from './page-routes.ts';
import type { Admit } from './router.ts';

/** Every viewer is one address: the limits of a single client would be too low for many of them. */
const limits = {
  unknownConnections: 256,
  unknownConnectionsPerPeer: 256,
  unknownRequestsInFlight: 192,
  unknownRequestsInFlightPerPeer: 192,
};

export interface DashboardPortDeps extends PageRoutesDeps {
  readonly address: string;
  readonly port: number;
  readonly token: { matches(text: string): boolean };
  readonly listen: (options: {
    readonly host: string;
    readonly port: number;
    readonly flag: string;
    readonly handler: HttpHandler;
    readonly limits: typeof limits;
    readonly onError: (err: unknown) => void;
  }) => Promise<Listening>;
  readonly log: Logger;
}

export function dashboardPort(deps: DashboardPortDeps): HttpServer {
  const { address, listen, log, port, token } = deps;
  const name = 'dashboard';
  const routed = pageHandler(deps, name, actsWithToken(token));
  return new HttpServer({
    name,
    handler: (request) => answer(request, routed),
    log,
    listen: (handler) =>
      listen({
        host: address,
        port,
        flag: '--dashboard-port',
        handler,
        limits,
        onError: (err) => log.error('Failed to handle request', { server: name, err }),
      }),
  });
}

async function answer(request: HttpRequest, routed: HttpHandler): Promise<HttpAnswer> {
  const { headers } = request;
  if (!isLoopbackHost(headers)) {
    return errorResponse(421, 'This port is reached as localhost, 127.0.0.1 or [::1] only.');
  }
  if (hasForeignOrigin(headers) || isLoadedByOthers(headers)) {
    return errorResponse(403, 'Requests from pages of other sites are rejected.');
  }
  const response = await routed(request);
  if ('proxyTo' in response) return response;
  return {
    ...response,
    headers: {
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      ...response.headers,
    },
  };
}

function actsWithToken(token: DashboardPortDeps['token']): Admit {
  return async (request, row) => {
    if (row.acts !== true || hasToken(request, token)) return undefined;
    return errorResponse(
      401,
      "This needs the token of the file dashboard-token in the kubelet's root directory.",
    );
  };
}

function hasToken(request: HttpRequest, token: DashboardPortDeps['token']): boolean {
  try {
    return [...bearerTokens(request)].some((each) => token.matches(each));
  } catch {
    // A malformed token is no token.
    return false;
  }
}
