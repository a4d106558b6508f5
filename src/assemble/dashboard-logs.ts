// The merged logs of the node's page: the handler of GET /ui/api/logs over that of GET /containerLogs.
import { containerInstances } from '../dashboard/logs/container-instances.ts';
import { uiLogsHandler } from '../dashboard/logs/ui-logs.ts';
import type { RouteHandler } from '../server/http-message.ts';
import { chooseContainer } from '../server/logs/choose-container.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface DashboardLogsRooms {
  readonly stores: Pick<SharedStores, 'desired' | 'statuses'>;
  readonly containerLogs: RouteHandler | undefined;
}

export function assembleDashboardLogs(
  { clock, edges }: Pick<AssembleInput, 'clock' | 'edges'>,
  { containerLogs, stores: { desired, statuses } }: DashboardLogsRooms,
): RouteHandlers {
  if (containerLogs === undefined) return {};
  return {
    uiLogs: uiLogsHandler({
      look: (namespace, name) => {
        const found = desired
          .all()
          .findLast(({ pod: { metadata } }) => metadata?.name === name && metadata.namespace === namespace);
        if (found === undefined) return undefined;
        const status = statuses.get(found.uid) ?? found.pod.status ?? {};
        return containerInstances(found.pod, status, (...args) => chooseContainer(name, ...args));
      },
      openLog: ({ container, namespace, pod }, query, signal) =>
        containerLogs({
          method: 'GET',
          path: `/containerLogs/${namespace}/${pod}/${container}`,
          params: { podNamespace: namespace, podID: pod, containerName: container },
          query,
          signal,
          headers: {},
          upgrade: false,
          certificate: undefined,
          readBody: () => Promise.resolve(new Uint8Array()),
        }),
      clock,
      pause: () => edges.pause(),
    }),
  };
}
