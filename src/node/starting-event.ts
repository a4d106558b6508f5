// Emits the node event `Starting` once per process. Upstream: BirthCry in pkg/kubelet/kubelet.go.
import type { EventSink } from '../api/ports/events.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';

export function startingEvent(events: Pick<EventSink, 'node'>): Component {
  return {
    name: 'starting-event',
    start: async (signal) => {
      events.node({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
      return { stopped: untilAborted(signal) };
    },
  };
}
