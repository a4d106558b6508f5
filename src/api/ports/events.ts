// What happened to a pod or to the node, as `kubectl describe` shows it. Types only; whoever reports takes an EventSink.
// Upstream: client-go/tools/record (EventRecorder) and pkg/kubelet/container (FilterEventRecorder).
import type { Pod } from '../k8s/types.ts';

export type EventType = 'Normal' | 'Warning';

export interface EventText {
  readonly type: EventType;
  /** CamelCase, as upstream's pkg/kubelet/events names it. */
  readonly reason: string;
  readonly message: string;
}

/** Never blocks, never throws: an event that cannot be told is lost, not waited for. */
export interface EventSink {
  /** `fieldPath` names the part that is meant: `spec.containers{name}`. */
  pod(pod: Pod, event: EventText, fieldPath?: string): void;
  node(event: EventText): void;
}

/** For who has nobody to tell. */
export const noEvents: EventSink = { pod: () => undefined, node: () => undefined };

/** `spec.initContainers{name}`, by the list in which the pod has the container; undefined when it has none of this name. */
export function containerFieldPath(pod: Pod, name: string): string | undefined {
  const { spec } = pod;
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    if ((spec?.[list] ?? []).some((each) => each.name === name)) return `spec.${list}{${name}}`;
  }
  return undefined;
}
