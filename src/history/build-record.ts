// Builds the record of an end from what was noted, the figures of that moment and the log's last lines. Pure.
// Invariant: nothing of the pod's environment, volumes or annotations is copied, so that a record contains no secret.
import type { ResourceRequirements } from '../api/k8s/types.ts';
import { findContainer } from '../api/pod/find-container.ts';
import type { ObservedContainer, ObservedSandbox } from '../api/pod/observed.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import {
  describeContainerEnd,
  describeKill,
  describeRejection,
  type PodTermination,
} from './describe-end.ts';
import { boundFigures, type EndRecord, type Figures, truncateText } from './end-record.ts';
import type { NotedEnd } from './noted-end.ts';
import { isoTime, isTime, type PastEvent, relevantEvents, startTimeline } from './timeline.ts';

interface Moment {
  readonly events: readonly PastEvent[];
  /** Of the node and the pod. */
  readonly figures: Figures;
  /** Undefined: they are not recorded, or the log is gone. */
  readonly lastLines: readonly string[] | undefined;
}

/** Event times are whole seconds. */
const eventToleranceMs = 1_000;

export function buildRecord(end: NotedEnd, moment: Moment): EndRecord {
  const { subject } = end;
  switch (subject.is) {
    case 'container':
      return containerRecord(end, subject.container, subject.sandbox, moment);
    case 'kill': {
      const { kill } = subject;
      const described = describeKill(kill);
      return podRecord(end, { ...described, reason: kill.reason, message: kill.message }, moment, kill);
    }
    case 'rejection': {
      const { message, reason } = subject;
      return podRecord(end, { ...describeRejection(reason, message), reason, message }, moment, undefined);
    }
  }
}

function podRecord(
  end: NotedEnd,
  { cause, kind, message, reason }: Pick<EndRecord, 'cause' | 'kind' | 'message' | 'reason'>,
  { events, figures }: Moment,
  kill: PodKill | undefined,
): EndRecord {
  return {
    ...heading(end, kind),
    cause,
    ...ruleOf(kill),
    figures: boundFigures({ ...kill?.evidence?.figures, ...figures }),
    reason: truncateText(reason),
    message: truncateText(message),
    timeline: startTimeline({
      podStartedAtMs: end.lifecycle?.startedAtMs,
      sandbox: undefined,
      container: undefined,
      status: end.status,
      events,
    }),
  };
}

function containerRecord(
  end: NotedEnd,
  container: ObservedContainer,
  sandbox: ObservedSandbox | undefined,
  { events, figures, lastLines }: Moment,
): EndRecord {
  const termination = terminationOf(end, container);
  const resources = findContainer(end.pod, container.name)?.resources;
  const { cause, kind, signal } = describeContainerEnd({
    ...container,
    memoryLimit: memoryOf(resources, 'limits'),
    termination,
    killing: killingMessage(events, container),
    // Observed together: the kubelet stops what is left in a sandbox that died.
    sandboxDied: sandbox?.ready === false && end.lifecycle?.state === 'syncing',
  });
  const { evidence } = termination?.kill ?? {};
  const { exitCode, finishedAtMs, id, message, name, reason, startedAtMs } = container;
  return {
    ...heading(end, kind),
    container: name,
    containerId: id,
    cause,
    ...ruleOf(termination?.kill),
    figures: boundFigures({ ...evidence?.figures, ...containerFigures(container, resources), ...figures }),
    exitCode,
    ...(signal === undefined ? {} : { signal }),
    reason: truncateText(reason),
    message: truncateText(message),
    ...(isTime(startedAtMs) ? { startedAt: isoTime(startedAtMs) } : {}),
    ...(isTime(finishedAtMs) ? { finishedAt: isoTime(finishedAtMs) } : {}),
    timeline: startTimeline({
      podStartedAtMs: end.lifecycle?.startedAtMs,
      sandbox,
      container,
      status: end.status,
      events,
    }),
    ...(lastLines === undefined ? {} : { lastLines }),
  };
}

function heading(
  { atMs, id, name, namespace, uid }: NotedEnd,
  kind: EndRecord['kind'],
): Pick<EndRecord, 'id' | 'time' | 'kind' | 'namespace' | 'pod' | 'uid'> {
  return {
    id,
    time: isoTime(atMs),
    kind,
    namespace: truncateText(namespace),
    pod: truncateText(name),
    uid: truncateText(uid),
  };
}

function ruleOf(kill: PodKill | undefined): { readonly rule?: string } {
  const rule = kill?.evidence?.rule;
  return rule === undefined ? {} : { rule: truncateText(rule) };
}

/** The termination that stopped the container; undefined if it ended by itself before or without one. */
function terminationOf(
  { lifecycle }: NotedEnd,
  { finishedAtMs }: ObservedContainer,
): PodTermination | undefined {
  if (lifecycle?.state === 'rejected') {
    return { why: `the pod was rejected (${lifecycle.reason})`, sinceMs: finishedAtMs, graceSeconds: 0 };
  }
  if (lifecycle?.state !== 'terminating' || finishedAtMs < lifecycle.sinceMs) return undefined;
  const { graceSeconds, kill, sinceMs, why } = lifecycle;
  return { why, sinceMs, graceSeconds, kill };
}

/** The message of the event with which the kubelet stopped this instance, not an earlier one of the same name. */
function killingMessage(
  events: readonly PastEvent[],
  { name, startedAtMs }: ObservedContainer,
): string | undefined {
  const killing = relevantEvents(events, name).findLast(
    ({ fieldPath, lastTimestamp, reason }) =>
      reason === 'Killing' &&
      fieldPath !== undefined &&
      Date.parse(lastTimestamp) >= startedAtMs - eventToleranceMs,
  );
  return killing?.message.startsWith('Stopping container') === true ? undefined : killing?.message;
}

function containerFigures(
  { resources: applied, restartCount }: ObservedContainer,
  resources: ResourceRequirements | undefined,
): Figures {
  const limit = memoryOf(resources, 'limits') ?? applied?.memoryLimitBytes?.toString();
  const request = memoryOf(resources, 'requests');
  return {
    restartCount,
    ...(limit === undefined ? {} : { memoryLimit: limit }),
    ...(request === undefined ? {} : { memoryRequest: request }),
  };
}

function memoryOf(
  resources: ResourceRequirements | undefined,
  kind: 'limits' | 'requests',
): string | undefined {
  return resources?.[kind]?.['memory'];
}
