// The handler of GET /containerLogs, with the budget that all readers of logs share.
import type { RouteHandler } from '../http-message.ts';
import { type ContainerLogsDeps, containerLogs } from './container-logs.ts';
import { Turns, type TurnsDeps } from './turns.ts';

/** What reading logs needs of the machine. */
export interface LogHost extends Pick<TurnsDeps, 'nextTurn'>, Pick<ContainerLogsDeps, 'files'> {}

interface LogHandlersDeps extends Omit<ContainerLogsDeps, 'files' | 'turns'> {
  readonly host: LogHost;
}

/** Log bytes processed in one turn of the event loop, over all readers: well under a millisecond of work. */
const bytesPerTurn = 128 * 1024;

export function logHandlers({ host, ...deps }: LogHandlersDeps): { readonly containerLogs: RouteHandler } {
  const turns = new Turns({ nextTurn: host.nextTurn, bytesPerTurn });
  return {
    containerLogs: ({ params, query, signal }) =>
      containerLogs(
        { ...deps, files: host.files, turns },
        {
          namespace: params['podNamespace'] ?? '',
          pod: params['podID'] ?? '',
          container: params['containerName'] ?? '',
          query,
          signal,
        },
      ),
  };
}
