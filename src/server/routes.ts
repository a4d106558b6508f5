// The rows of the route table that one port serves, each with its handler. Pure.
// Upstream: NewServer, InstallDebuggingDisabledHandlers and getHandlerForDisabledEndpoint in pkg/kubelet/server/server.go.
import { errorResponse, type RouteHandler } from './http-message.ts';
import { type RouteClass, type RouteName, type RouteRow, routeTable } from './route-table.ts';
import type { Route } from './router.ts';

/** The handler of each row. A row without a handler is not served: its path is not found. */
export type RouteHandlers = Partial<Readonly<Record<RouteName, RouteHandler | undefined>>>;

export interface RouteSettings {
  readonly port: 'secure' | 'read-only';
  readonly enableDebuggingHandlers: boolean;
  readonly enableSystemLogHandler: boolean;
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
  readonly gates: Readonly<Record<NonNullable<RouteRow['gate']>, boolean>>;
}

const rows: readonly (RouteRow & { readonly name: RouteName })[] = routeTable;

export function routesOf(settings: RouteSettings, handlers: RouteHandlers): readonly Route[] {
  return rows.flatMap((row) => routeOf(row, settings, handlers[row.name]) ?? []);
}

/**
 * The first segments of the plain paths of the secure port, sorted, as /statusz lists them. Services are not listed, as
 * upstream, nor is the page itself.
 */
export function listedPaths(
  settings: Omit<RouteSettings, 'port'>,
  handlers: RouteHandlers,
): readonly string[] {
  const listed = routesOf({ ...settings, port: 'secure' }, handlers)
    .filter(({ row }) => row.kind === 'plain' && row.name !== 'statusz')
    .map(({ row }) => `/${row.path.split('/')[1]}`);
  return [...new Set(listed)].toSorted();
}

function routeOf(
  row: RouteRow,
  settings: RouteSettings,
  handle: RouteHandler | undefined,
): Route | undefined {
  if (row.gate !== undefined && !settings.gates[row.gate]) return undefined;
  const readOnly = settings.port === 'read-only';
  const offered = readOnly
    ? row.readOnly === true
    : row.class === 'always' || settings.enableDebuggingHandlers;
  if (!offered) return disabled(row, row.disabledBelow, debuggingOff);
  if (!isOn(row.class, settings)) {
    return disabled(row, row.disabledBelow ?? row.path, row.disabledMessage ?? debuggingOff);
  }
  return handle === undefined ? undefined : { row, handle };
}

const debuggingOff = 'Debug endpoints are disabled.';

/** Answers authorized clients of a disabled path with the reason. */
function disabled(row: RouteRow, below: string | undefined, message: string): Route | undefined {
  if (below === undefined) return undefined;
  const { fineSubresource, name, subresource } = row;
  const kept = fineSubresource === undefined ? {} : { fineSubresource };
  return {
    row: { name, kind: 'plain', class: row.class, path: below, subresource, ...kept },
    handle: () => errorResponse(405, message),
  };
}

function isOn(kind: RouteClass, settings: RouteSettings): boolean {
  switch (kind) {
    case 'system-log':
      return settings.enableSystemLogHandler;
    case 'profiling':
      return settings.enableProfilingHandler;
    case 'debug-flags':
      return settings.enableDebugFlagsHandler;
    case 'always':
    case 'debug':
    default:
      return true;
  }
}
