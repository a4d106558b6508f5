// The room of the events about pods and the node.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import type { EventPost } from '../events/event-sender.ts';

interface EventsInput {
  /** Undefined on a standalone node: events are logged and kept in memory, not sent. */
  readonly post: EventPost | undefined;
  readonly config: Pick<KubeletConfiguration, 'eventRecordQPS' | 'eventBurst'>;
  readonly nodeName: string;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

export function assembleEvents({ clock, config, log, nodeName, post, random }: EventsInput): EventRecorder {
  return new EventRecorder({
    post,
    nodeName,
    rate: { qps: config.eventRecordQPS, burst: config.eventBurst },
    clock,
    log: log.with({ component: 'events' }),
    random,
  });
}
