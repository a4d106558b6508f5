// Puts together what is told about pods and the node.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import type { EventPost } from '../events/event-sender.ts';

/** `post` is undefined on a node without an API server: then events are kept and logged, not sent. */
export function eventRecorder(input: {
  readonly post: EventPost | undefined;
  readonly config: Pick<KubeletConfiguration, 'eventRecordQPS' | 'eventBurst'>;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
}): EventRecorder {
  const { post, config, nodeName, clock, log } = input;
  return new EventRecorder({
    post,
    nodeName,
    rate: { qps: config.eventRecordQPS, burst: config.eventBurst },
    clock,
    log: log.with({ component: 'events' }),
    random: Math.random,
  });
}
