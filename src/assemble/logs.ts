// `kubectl logs`: reading containers' logs, plugged into the port that answers it.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { type ContainerLogsDeps, containerLogs } from '../server/logs/container-logs.ts';
import type { LogFiles } from '../server/logs/log-files.ts';
import { Turns, type TurnsDeps } from '../server/logs/turns.ts';
import type { RouteHandlers } from '../server/routes.ts';

/** What reading logs needs of the machine. */
export interface LogHost extends Pick<TurnsDeps, 'nextTurn'> {
  readonly files: LogFiles;
}

interface LogsInput extends Pick<ContainerLogsDeps, 'desired' | 'statuses' | 'observed'> {
  readonly gates: { readonly PodLogsQuerySplitStreams: boolean };
  readonly edges: LogHost;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What all who read logs may work on in one turn of the event loop: well under a millisecond's work. */
const bytesPerTurn = 128 * 1024;

export function logHandlers(input: LogsInput): Pick<RouteHandlers, 'containerLogs'> {
  const { clock, desired, edges, gates, log, observed, statuses } = input;
  const deps: ContainerLogsDeps = {
    desired,
    statuses,
    observed,
    files: edges.files,
    turns: new Turns({ nextTurn: edges.nextTurn, bytesPerTurn }),
    clock,
    log,
    splitStreams: gates.PodLogsQuerySplitStreams,
  };
  return {
    containerLogs: ({ params, query, signal }) =>
      containerLogs(deps, {
        namespace: params['podNamespace'] ?? '',
        pod: params['podID'] ?? '',
        container: params['containerName'] ?? '',
        query,
        signal,
      }),
  };
}
