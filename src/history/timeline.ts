// The timeline of a container's start: what the kubelet knows of it without asking anyone. Pure.
// Invariant: bounded; entries are sorted by time.
import type { PodStatus } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedSandbox } from '../api/pod/observed.ts';
import { type TimelineEntry, truncateText } from './end-record.ts';

export interface PastEvent {
  readonly reason: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly count: number;
  readonly lastTimestamp: string;
}

interface TimelineInput {
  readonly podStartedAtMs: number | undefined;
  readonly sandbox: ObservedSandbox | undefined;
  readonly container: ObservedContainer | undefined;
  readonly status: PodStatus | undefined;
  /** Of the pod, in the order in which they last occurred. */
  readonly events: readonly PastEvent[];
}

const maxEvents = 16;
const maxEventBytes = 200;

export function startTimeline(input: TimelineInput): readonly TimelineEntry[] {
  const { container, podStartedAtMs, sandbox, status } = input;
  const ready = status?.conditions?.find(({ type, status: is }) => type === 'Ready' && is === 'True');
  const entries = [
    ...at(podStartedAtMs, 'the kubelet first saw the pod'),
    ...at(sandbox?.createdAtMs, 'sandbox created'),
    ...at(container?.createdAtMs, 'container created'),
    ...at(container?.startedAtMs, 'container started'),
    ...at(ready === undefined ? undefined : Date.parse(ready.lastTransitionTime ?? ''), 'pod ready'),
    ...relevantEvents(input.events, container?.name).flatMap(({ count, lastTimestamp, message, reason }) =>
      at(
        Date.parse(lastTimestamp),
        truncateText(`event ${reason}${count > 1 ? ` (${count} times)` : ''}: ${message}`, maxEventBytes),
      ),
    ),
  ];
  return entries.toSorted((a, b) => a.ms - b.ms).map(({ ms, what }) => ({ time: isoTime(ms), what }));
}

/** Events of the pod itself and of this container, not those of other containers. */
export function relevantEvents(
  events: readonly PastEvent[],
  container: string | undefined,
): readonly PastEvent[] {
  return events
    .filter(
      ({ fieldPath = '' }) =>
        fieldPath === '' || (container !== undefined && fieldPath.endsWith(`{${container}}`)),
    )
    .slice(-maxEvents);
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Beyond what a Date can represent, or before 1970, a time of the runtime is nonsense. */
export function isTime(ms: number | undefined): ms is number {
  return ms !== undefined && ms > 0 && ms < 8.64e15;
}

function at(ms: number | undefined, what: string): readonly { readonly ms: number; readonly what: string }[] {
  return isTime(ms) ? [{ ms, what }] : [];
}
