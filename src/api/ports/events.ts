// Events on pods and the node, as `kubectl describe` shows them. A component that emits events takes an EventSink.
// Upstream: client-go/tools/record (EventRecorder) and pkg/kubelet/container (FilterEventRecorder).
import type { ObjectReference, Pod } from '../k8s/types.ts';

export type EventType = 'Normal' | 'Warning';

export interface EventText {
  readonly type: EventType;
  /** CamelCase, as upstream's pkg/kubelet/events names it. */
  readonly reason: string;
  readonly message: string;
  /** metadata.annotations of the Event object. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Never blocks and never throws: an event that cannot be sent is dropped. */
export interface EventSink {
  /** `fieldPath` of the involved object: `spec.containers{name}`. */
  pod(pod: Pod, event: EventText, fieldPath?: string): void;
  node(event: EventText): void;
}

/** Events on other objects, such as a claim. Never blocks and never throws either. */
export interface ObjectEvents {
  object(reference: ObjectReference, event: EventText): void;
}

/** Drops all events. */
export const noEvents: EventSink = { pod: () => undefined, node: () => undefined };

/** The field path of a container, such as `spec.initContainers{name}`; undefined if the pod has none of this name. */
export function containerFieldPath(pod: Pod, name: string): string | undefined {
  const { spec } = pod;
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    if ((spec?.[list] ?? []).some((each) => each.name === name)) return `spec.${list}{${name}}`;
  }
  return undefined;
}
