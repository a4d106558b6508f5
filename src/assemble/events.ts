// Events about pods and the node.
import { eventPost } from '../edge/apiserver/resource-clients.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import type { OwnNode } from '../node/own-node.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';

/** Without an API server, events are logged and kept in memory, not sent. */
export function assembleEvents(
  input: Pick<AssembleInput, 'clock' | 'config' | 'log' | 'nodeName' | 'random'>,
  { api, ownNode }: { readonly api: ClusterApi | undefined; readonly ownNode: OwnNode },
): EventRecorder {
  const { clock, config, log, nodeName, random } = input;
  return new EventRecorder({
    post: api && eventPost(api.client),
    nodeName,
    nodeUid: () => ownNode.get()?.metadata?.uid,
    rate: {
      get qps() {
        return config.eventRecordQPS;
      },
      get burst() {
        return config.eventBurst;
      },
    },
    clock,
    log: log.with({ component: 'events' }),
    random,
  });
}
