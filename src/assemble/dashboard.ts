// The node's page: its files, the token for acting on the loopback port, and what its streams contribute. The ports that serve it are
// in server.ts.
import type { Component } from '../base/component.ts';
import { DashboardToken } from '../dashboard/serve/dashboard-token.ts';
import { PageFiles } from '../dashboard/serve/page-files.ts';
import type { RouteHandlers } from '../server/routes.ts';
import { assembleDashboardFeed } from './dashboard-feed.ts';
import { assembleDashboardLogs } from './dashboard-logs.ts';
import type { AssembleInput } from './input.ts';

type DashboardRooms = Parameters<typeof assembleDashboardFeed>[1] &
  Parameters<typeof assembleDashboardLogs>[1];

export interface Dashboard {
  readonly handlers: RouteHandlers;
  readonly components: readonly Component[];
  /** Started after the ports, so that they stop before them: viewers get a last message. */
  readonly streams: readonly Component[];
  /** For acting on the loopback port; no other port needs it. */
  readonly token: DashboardToken;
}

type DashboardInput = Pick<AssembleInput, 'flags'> & Parameters<typeof assembleDashboardFeed>[0];

export function assembleDashboard(input: DashboardInput, rooms: DashboardRooms): Dashboard {
  const { clock, edges, flags, log } = input;
  const feed = assembleDashboardFeed(input, rooms);
  const files = new PageFiles({ read: edges.pageFile, clock });
  const token = new DashboardToken({
    path: `${flags.rootDir}/dashboard-token`,
    files: edges.stateFiles,
    randomBytes: edges.randomBytes,
    log: log.with({ component: 'dashboard' }),
  });
  return {
    token,
    handlers: { uiFiles: files.handle, ...feed.handlers, ...assembleDashboardLogs(input, rooms) },
    components: [files],
    streams: feed.components,
  };
}
