// Starts of a pod that ran before this kubelet process: made of the times in the runtime's containers and in the status, which
// know when something happened, not how long each step took. Pure; nothing is kept. See history/timeline.ts for the same times.
import type { Container, Pod, PodStatus } from '../api/k8s/types.ts';
import { allContainers } from '../api/pod/find-container.ts';
import { firstSeenMs, type ObservedContainer, type ObservedPod } from '../api/pod/observed.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import type { PodStart, StartStage } from '../api/ports/node-page.ts';
import { shortText } from '../base/short-text.ts';

const maxReasonBytes = 100;
/** Conditions have whole seconds. */
const conditionPrecisionMs = 1_000;

interface PodBefore {
  readonly pod: Pod;
  readonly seen: ObservedPod | undefined;
  readonly status: PodStatus | undefined;
  /** When this process first saw the pod. Of a pod without an API server, it reports Ready since then. */
  readonly seenAtMs: number;
}

/** Newest first, at most `most`; empty if the runtime has nothing of the pod. */
export function rebuildStarts({ pod, seen, seenAtMs, status }: PodBefore, most: number): readonly PodStart[] {
  const beginMs = firstSeenMs(seen);
  if (seen === undefined || beginMs === undefined) return [];
  const first = seen.containers.filter(({ restartCount }) => restartCount === 0);
  const readyMs = readySince(status);
  const wasReady = readyMs !== undefined && readyMs < seenAtMs - conditionPrecisionMs;
  const restarts = seen.containers
    .filter(({ restartCount }) => restartCount > 0)
    .map((container) => restartOf(pod, container))
    .toSorted((a, b) => b.beginMs - a.beginMs)
    .slice(0, most - 1);
  const stages = [...sandboxStage(seen, beginMs), ...inOrder(first.flatMap((each) => stagesOf(pod, each)))];
  // After a restart, the condition is about that, not about the start of the pod.
  const isReady = wasReady && restarts.length === 0;
  const lastMs = Math.max(beginMs, ...stages.map((stage) => stage.endMs ?? stage.beginMs));
  const ready: readonly StartStage[] = isReady
    ? [{ stage: 'ready', beginMs: Math.min(lastMs, readyMs), endMs: readyMs }]
    : [];
  const start: PodStart = {
    beginMs,
    ...(isReady && { readyMs }),
    from: 'status',
    stages: [...stages, ...ready],
  };
  return [...restarts, start].map(inWholeMs);
}

/** Runtimes report nanoseconds. */
function inWholeMs(start: PodStart): PodStart {
  const stages = start.stages.map((stage) => ({
    ...stage,
    beginMs: Math.round(stage.beginMs),
    ...(stage.endMs !== undefined && { endMs: Math.round(stage.endMs) }),
  }));
  return { ...start, beginMs: Math.round(start.beginMs), stages };
}

function restartOf(pod: Pod, container: ObservedContainer): PodStart {
  const stages = stagesOf(pod, container);
  return { beginMs: container.createdAtMs, from: 'status', restartOf: container.name, stages };
}

function sandboxStage({ sandboxes }: ObservedPod, beginMs: number): readonly StartStage[] {
  const createdMs = sandboxes.at(-1)?.createdAtMs;
  return isTime(createdMs)
    ? [{ stage: 'sandbox', beginMs: Math.min(beginMs, createdMs), endMs: createdMs }]
    : [];
}

function stagesOf(pod: Pod, container: ObservedContainer): readonly StartStage[] {
  const { createdAtMs, exitCode, finishedAtMs, name, reason, startedAtMs } = container;
  if (!isTime(createdAtMs)) return [];
  if (!isTime(startedAtMs))
    return [{ stage: 'create', container: name, beginMs: createdAtMs, endMs: createdAtMs }];
  const start: StartStage = {
    stage: 'start',
    container: name,
    beginMs: Math.min(createdAtMs, startedAtMs),
    endMs: startedAtMs,
  };
  const spec = allContainers(pod).find((each) => each.name === name);
  if (spec === undefined || !runsToCompletion(pod, spec)) return [start];
  const run: StartStage = { stage: 'run', container: name, beginMs: startedAtMs };
  if (!isTime(finishedAtMs)) return [start, run];
  const failure = exitFailure(exitCode, reason);
  const endMs = Math.max(startedAtMs, finishedAtMs);
  return [start, { ...run, endMs, ...(failure !== undefined && { error: failure }) }];
}

/** An init container that the next containers wait for. */
export function runsToCompletion({ spec }: Pod, container: Container): boolean {
  return spec?.initContainers?.some(({ name }) => name === container.name) === true && !isSidecar(container);
}

/** Undefined for a success. */
export function exitFailure(exitCode: number, reason: string): string | undefined {
  if (exitCode === 0) return undefined;
  if (reason === '' || reason === 'Error') return `exit code ${exitCode}`;
  return `${shortText(reason, maxReasonBytes)}, exit code ${exitCode}`;
}

/** When the pod became ready, if it is. */
export function readySince(status: PodStatus | undefined): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return undefined;
  const ms = Date.parse(ready.lastTransitionTime ?? '');
  return isTime(ms) ? ms : undefined;
}

function inOrder(stages: readonly StartStage[]): readonly StartStage[] {
  return stages.toSorted((a, b) => a.beginMs - b.beginMs);
}

/** A runtime may report nonsense. */
function isTime(ms: number | undefined): ms is number {
  return ms !== undefined && ms > 0 && ms < 8.64e15;
}
