// Reports to the node's page what its user may do on this port, so that it offers nothing that would be rejected. Upstream has no
// counterpart.
import { jsonResponse, type RouteHandler } from './http-message.ts';
import { type RouteName, routeTable } from './route-table.ts';
import type { Admit } from './router.ts';

/** `isOn`: whether the port serves logs and streams at all. */
export function accessHandler(admit: Admit, isOn: boolean): RouteHandler {
  return async (request) => {
    const may = async (name: RouteName, method: string): Promise<boolean> => {
      const row = routeTable.find((each) => each.name === name);
      return isOn && row !== undefined && (await admit({ ...request, method }, row)) === undefined;
    };
    const access = { logs: await may('containerLogs', 'GET'), exec: await may('exec', 'POST') };
    const response = jsonResponse(`${JSON.stringify(access)}\n`);
    return { ...response, headers: { ...response.headers, 'cache-control': 'no-store' } };
  };
}
