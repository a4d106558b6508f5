// The node's page: its files, the token for acting on the loopback port, and what its streams contribute. The ports that serve it are
// in server.ts.
import type { Component } from '../base/component.ts';
import { DashboardToken } from '../dashboard/serve/dashboard-token.ts';
import { PageFiles } from '../dashboard/serve/page-files.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { AssembleInput } from './input.ts';

interface DashboardRooms {
  /** The handlers of dashboard-feed.ts. */
  readonly feed: RouteHandlers;
}

export interface Dashboard {
  readonly handlers: RouteHandlers;
  readonly components: readonly Component[];
  /** For acting on the loopback port; no other port needs it. */
  readonly token: DashboardToken;
}

type DashboardInput = Pick<AssembleInput, 'clock' | 'edges' | 'flags' | 'log'>;

export function assembleDashboard(
  { clock, edges, flags, log }: DashboardInput,
  { feed }: DashboardRooms,
): Dashboard {
  const files = new PageFiles({ read: edges.pageFile, clock });
  const token = new DashboardToken({
    path: `${flags.rootDir}/dashboard-token`,
    files: edges.stateFiles,
    randomBytes: edges.randomBytes,
    log: log.with({ component: 'dashboard' }),
  });
  return {
    token,
    handlers: { uiFiles: files.handle, ...feed },
    components: [files],
  };
}
