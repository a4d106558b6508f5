// Emits what happens to the configuration as events of the node. A notice from before this kubelet was assembled, such as a fall
// back at start-up, is emitted when it starts.
import type { EventSink } from '../api/ports/events.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { type Component, on } from '../base/component.ts';
import type { ConfigStatus } from './config-status.ts';

export function configNotices(
  status: Pick<ConfigStatus, 'changed' | 'takeNotices'>,
  events: Pick<EventSink, 'node'>,
): Component {
  const emit = (): void => {
    for (const notice of status.takeNotices()) events.node(notice);
  };
  return {
    name: 'config-notices',
    wakes: [on(status.changed, emit)],
    start: async (signal) => {
      emit();
      return { stopped: untilAborted(signal) };
    },
  };
}
