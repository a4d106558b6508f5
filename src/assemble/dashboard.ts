// The node's page: its files, the token for acting on the loopback port, and what its streams contribute. The ports that serve it are
// in server.ts.
import type { Component } from '../base/component.ts';
import { DashboardToken } from '../dashboard/serve/dashboard-token.ts';
import { PageFiles } from '../dashboard/serve/page-files.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { AssembleInput } from './input.ts';

/** One of the streams of the page: its rows in the route table, and what runs behind them. */
interface DashboardPart {
  readonly handlers: RouteHandlers;
  readonly components: readonly Component[];
}

interface DashboardRooms {
  /** Those of dashboard-feed.ts and dashboard-logs.ts. */
  readonly feed?: DashboardPart | undefined;
  readonly logs?: DashboardPart | undefined;
}

export interface Dashboard extends DashboardPart {
  /** For acting on the loopback port; no other port needs it. */
  readonly token: DashboardToken;
}

type DashboardInput = Pick<AssembleInput, 'clock' | 'edges' | 'flags' | 'log'>;

export function assembleDashboard(
  { clock, edges, flags, log }: DashboardInput,
  { feed, logs }: DashboardRooms,
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
    handlers: { uiFiles: files.handle, ...feed?.handlers, ...logs?.handlers },
    components: [files, ...(feed?.components ?? []), ...(logs?.components ?? [])],
  };
}
