// Which ports the node's page has: the local socket always, and --dashboard-port on a loopback address; on any other address it is one of
// the secure ports (secure-port.ts). Upstream has no counterpart.
import { isLoopback, parseIp } from '../api/k8s/ip-address.ts';
import type { Component } from '../base/component.ts';
import { type DashboardPortDeps, dashboardPort } from './dashboard-port.ts';
import { LocalSocket, type LocalSocketDeps } from './local-socket.ts';
import type { PageRoutesDeps } from './page-routes.ts';

interface PageFlags {
  readonly dashboardAddress: string;
  readonly dashboardPort: number;
  readonly rootDir: string;
}

interface PagePortsDeps extends PageRoutesDeps {
  readonly config: PageRoutesDeps['config'] & { readonly enableServer: boolean };
  readonly flags: PageFlags;
  readonly token: DashboardPortDeps['token'] & Component;
  readonly listen: DashboardPortDeps['listen'];
  readonly listenUnix: LocalSocketDeps['listen'];
  readonly log: DashboardPortDeps['log'];
}

/** In start order. */
export function pagePorts(deps: PagePortsDeps): readonly Component[] {
  const { config, flags, listenUnix, token } = deps;
  if (!config.enableServer) return [];
  const socket = new LocalSocket({ ...deps, listen: listenUnix, path: `${flags.rootDir}/kubelet-api.sock` });
  const plain = dashboardAt(flags, true);
  return plain === undefined ? [socket] : [socket, token, dashboardPort({ ...deps, ...plain })];
}

/** The address of the port, if there is one and it is on a loopback address or, else, on one that others can reach. */
export function dashboardAt(
  { dashboardAddress, dashboardPort: port }: PageFlags,
  loopback: boolean,
): { readonly address: string; readonly port: number } | undefined {
  const address = parseIp(dashboardAddress);
  if (port === 0 || address === undefined || isLoopback(address) !== loopback) return undefined;
  return { address: address.text, port };
}
