// Computes the conditions that the kubelet owns, in the order in which it writes them. Pure.
// Upstream: pkg/kubelet/status/generate.go, and updateLastTransitionTime in status_manager.go.
import type { ContainerStatus, Pod, PodCondition } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { longRunningContainers } from '../api/pod/find-container.ts';
import type { ObservedPod, ObservedSandbox } from '../api/pod/observed.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import type { ResizeCondition, ResizeConditions } from '../api/ports/resize-conditions.ts';
import { apiTime, nonEmpty, noTime, present } from './api-fields.ts';
import { findContainerStatus } from './find-container-status.ts';
import { hasTrigger, isRestartEnabled, restartingCondition } from './restart-all.ts';
import type { StatusGates } from './status-gates.ts';

export const ownedConditions: readonly string[] = [
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  restartingCondition,
];

/** Written by the kubelet and by other controllers; once set it stays. */
export const sharedCondition = 'DisruptionTarget';

const finalOnceTerminal: readonly string[] = ['Initialized', 'Ready', 'ContainersReady'];

export interface ConditionsView {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  /** The worker has just created the sandbox, so that the observation is outdated. */
  readonly sandboxReady: boolean;
  /** Init containers first, then the regular ones. */
  readonly statuses: readonly ContainerStatus[];
  readonly phase: string;
  /** Conditions owned by other controllers, which readiness gates may name. */
  readonly foreign: readonly PodCondition[];
  readonly before: readonly PodCondition[];
  readonly resize?: ResizeConditions | undefined;
  /** The pod was terminal before: only its sandbox can still become not ready. */
  readonly final: boolean;
  readonly gates: StatusGates;
  readonly nowMs: number;
}

type Verdict = Pick<PodCondition, 'status' | 'reason' | 'message'>;

export function computeConditions(view: ConditionsView): PodCondition[] {
  const containersReady = containersReadyVerdict(view);
  const own: readonly (readonly [string, Verdict])[] = [
    ...(view.gates.PodReadyToStartContainersCondition
      ? [['PodReadyToStartContainers', sandboxVerdict(view)] as const]
      : []),
    ['Initialized', initializedVerdict(view)],
    ['Ready', containersReady.status === 'True' ? gatesVerdict(view) : containersReady],
    ['ContainersReady', containersReady],
    ['PodScheduled', truth(true)],
  ];
  return [
    ...view.foreign.map((condition) =>
      condition.type === sharedCondition ? stamp(view, condition) : condition,
    ),
    ...resizeCondition(view, 'PodResizePending', view.resize?.pending),
    ...resizeCondition(view, 'PodResizeInProgress', view.resize?.inProgress),
    ...own.map(([type, verdict]) => settle(view, type, verdict)),
    ...allRestartingCondition(view),
  ];
}

/** Only for pods with such a rule; without a generation, as upstream reports it. */
function allRestartingCondition(view: ConditionsView): readonly PodCondition[] {
  const { before, gates, nowMs, observed, phase, pod } = view;
  if (!isRestartEnabled(pod, gates)) return [];
  const isOver = isTerminalPhase(phase);
  // differs from upstream: derived from the runtime alone, so that it cannot stay True if a step was not observed.
  const isRestarting = !isOver && hasTrigger(pod, observed);
  const verdict: Verdict = isRestarting
    ? {
        status: 'True',
        reason: 'RestartAllContainersStarted',
        message: 'container exited with restart policy rule',
      }
    : isOver
      ? terminalVerdict(phase)
      : truth(false);
  const options = { before, generation: undefined, tracksGeneration: false, nowMs };
  return [stampCondition(restartingCondition, verdict, options)];
}

/** Copied as reported: times and generation are the resize's, not the pod's. */
function resizeCondition(
  view: ConditionsView,
  type: string,
  resize: ResizeCondition | undefined,
): readonly PodCondition[] {
  if (resize === undefined || !view.gates.InPlacePodVerticalScaling) return [];
  const old = view.before.find((condition) => condition.type === type);
  const tracks = view.gates.PodObservedGenerationTracking || (old?.observedGeneration ?? 0) !== 0;
  return [
    present<PodCondition>({
      type,
      observedGeneration: tracks && resize.generation !== 0 ? resize.generation : undefined,
      status: 'True',
      lastProbeTime: apiTime(resize.updatedMs),
      lastTransitionTime: apiTime(resize.sinceMs),
      reason: nonEmpty(resize.reason),
      message: nonEmpty(resize.message),
    }),
  ];
}

/** A condition in the API's form. Its transition time changes only with its status. */
export function stampCondition(
  type: string,
  verdict: Verdict,
  options: {
    before: readonly PodCondition[];
    generation: number | undefined;
    tracksGeneration: boolean;
    nowMs: number;
  },
): PodCondition {
  const old = options.before.find((condition) => condition.type === type);
  // Once reported, the generation is kept up to date even if the gate is off.
  const tracks = options.tracksGeneration || (old?.observedGeneration ?? 0) !== 0;
  return present<PodCondition>({
    type,
    observedGeneration: tracks && options.generation !== 0 ? options.generation : undefined,
    status: verdict.status,
    lastProbeTime: noTime,
    lastTransitionTime:
      old?.status === verdict.status ? (old.lastTransitionTime ?? noTime) : apiTime(options.nowMs),
    reason: verdict.reason,
    message: verdict.message,
  });
}

function settle(view: ConditionsView, type: string, verdict: Verdict): PodCondition {
  const old = view.before.find((condition) => condition.type === type);
  // The sandbox of a finished pod may be garbage-collected: that is no news.
  const isFinal = finalOnceTerminal.includes(type) || old?.status === verdict.status;
  const kept = view.final && old !== undefined && isFinal ? old : verdict;
  return stampCondition(type, kept, {
    before: view.before,
    generation: view.pod.metadata?.generation,
    tracksGeneration: view.gates.PodObservedGenerationTracking,
    nowMs: view.nowMs,
  });
}

function stamp(view: ConditionsView, condition: PodCondition): PodCondition {
  const old = view.before.find((each) => each.type === condition.type);
  const lastTransitionTime =
    old?.status === condition.status ? (old.lastTransitionTime ?? noTime) : apiTime(view.nowMs);
  return { ...condition, lastTransitionTime };
}

function truth(holds: boolean): Verdict {
  return { status: holds ? 'True' : 'False' };
}

/** False exactly when containers cannot be started in the current sandbox, so that a new one is needed. */
function sandboxVerdict({ observed, pod, sandboxReady }: ConditionsView): Verdict {
  const message = sandboxReady ? undefined : sandboxFault(pod, observed?.sandboxes ?? []);
  return message === undefined ? truth(true) : { status: 'False', reason: 'PodSandboxNotReady', message };
}

/** Upstream: PodSandboxChanged in pkg/kubelet/kuberuntime/util. */
function sandboxFault(pod: Pod, sandboxes: readonly ObservedSandbox[]): string | undefined {
  const [newest] = sandboxes;
  if (newest === undefined) return 'no pod sandbox exists';
  if (sandboxes.filter(({ ready }) => ready).length > 1)
    return 'multiple pod sandboxes are ready and need to be reconciled';
  if (!newest.ready) return 'pod sandbox is not ready';
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (newest.hostNetwork !== hostNetwork)
    return 'network namespace mode changed and sandbox needs to be recreated';
  return hostNetwork || newest.ips.length > 0 ? undefined : 'pod sandbox has no IP address';
}

/** The verdict for a terminal phase, independent of the containers. */
export function terminalVerdict(phase: string): Verdict {
  return { status: 'False', reason: phase === 'Failed' ? 'PodFailed' : 'PodCompleted' };
}

function containersReadyVerdict(view: ConditionsView): Verdict {
  const { pod, statuses, phase } = view;
  if (statuses.length === 0) return { status: 'False', reason: 'UnknownContainerStatuses' };
  const names = longRunningContainers(pod).map((container) => container.name);
  const unknown = names.filter((name) => findContainerStatus(statuses, name) === undefined);
  const unready = names.filter((name) => findContainerStatus(statuses, name)?.ready === false);
  if (phase === 'Failed' || (phase === 'Succeeded' && unknown.length === 0)) return terminalVerdict(phase);
  const message = listed(unknown, 'unknown', unready, 'unready');
  return message === '' ? truth(true) : { status: 'False', reason: 'ContainersNotReady', message };
}

function gatesVerdict(view: ConditionsView): Verdict {
  const complaints: string[] = [];
  for (const { conditionType } of view.pod.spec?.readinessGates ?? []) {
    const condition = view.foreign.find((each) => each.type === conditionType);
    if (condition === undefined) {
      complaints.push(
        `corresponding condition of pod readiness gate ${quoted(conditionType)} does not exist.`,
      );
    } else if (condition.status !== 'True') {
      complaints.push(
        `the status of pod readiness gate ${quoted(conditionType)} is not "True", but ${condition.status}`,
      );
    }
  }
  if (complaints.length === 0) return truth(true);
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: complaints.join(', ') };
}

function isInitialized({ status, type }: PodCondition): boolean {
  return type === 'Initialized' && status === 'True';
}

function initializedVerdict(view: ConditionsView): Verdict {
  const { before, gates, pod, statuses, phase } = view;
  const initContainers = pod.spec?.initContainers ?? [];
  if (statuses.length === 0 && initContainers.length > 0) {
    return { status: 'False', reason: 'UnknownContainerStatuses' };
  }
  const unknown: string[] = [];
  const incomplete: string[] = [];
  for (const container of initContainers) {
    const status = findContainerStatus(statuses, container.name);
    if (status === undefined) unknown.push(container.name);
    else if (isSidecar(container) ? status.started !== true : !status.ready) incomplete.push(container.name);
  }
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'True', reason: 'PodCompleted' };
  if (anyRegularStarted(pod, statuses)) return truth(true);
  const message = listed(unknown, 'unknown', incomplete, 'incomplete');
  // A pod that was initialized once stays so while its init containers run again.
  if (gates.RestartAllContainersOnContainerExits && before.some(isInitialized)) return truth(true);
  return message === '' ? truth(true) : { status: 'False', reason: 'ContainersNotInitialized', message };
}

/** A started regular container proves that the pod was initialized once, also while a sidecar restarts. */
function anyRegularStarted(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  return (pod.spec?.containers ?? []).some(({ name }) => {
    const state = findContainerStatus(statuses, name)?.state;
    return state?.running !== undefined || state?.terminated !== undefined;
  });
}

function listed(
  unknown: readonly string[],
  unknownWord: string,
  others: readonly string[],
  word: string,
): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with ${unknownWord} status: [${unknown.join(' ')}]`);
  if (others.length > 0) parts.push(`containers with ${word} status: [${others.join(' ')}]`);
  return parts.join(', ');
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
