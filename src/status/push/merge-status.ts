// Merges the kubelet's status into the API's, giving the status to send. Pure.
// Invariants: other controllers' conditions are kept; a terminal phase is sent only after the last container has stopped,
// since the pod's exclusive resources are reused from then on; a terminal phase is never sent together with Ready.
// Upstream: mergePodStatus in pkg/kubelet/status/status_manager.go.
import type { Pod, PodCondition, PodStatus } from '../../api/k8s/types.ts';
import { isTerminalPhase } from '../../api/pod/active-pod.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { apiTime, noTime, present } from '../api-fields.ts';
import { ownedConditions, sharedCondition, stampCondition, terminalVerdict } from '../conditions.ts';
import { isGenerated, keptFields, normalizeStatus } from './normalize-status.ts';

interface MergeInput {
  readonly pod: Pod;
  /** The status as the API has it. */
  readonly api: PodStatus;
  /** The status as generated. */
  readonly status: PodStatus;
  readonly couldHaveRunningContainers: boolean;
  readonly nowMs: number;
}

/** True until the worker has finished, or until everything of a terminating pod was observed stopped. */
export function couldHaveRunningContainers(
  lifecycle: PodLifecycle | undefined,
  observed: ObservedPod | undefined,
): boolean {
  if (lifecycle?.state === 'terminating') return !isDown(observed);
  return lifecycle?.state === 'syncing';
}

export function mergePodStatus(given: MergeInput): PodStatus {
  const { api, status } = given;
  // The status may be older than the observation that nothing runs any more; the next one follows at once.
  const couldRun = given.couldHaveRunningContainers || showsRunning(status);
  const input = { ...given, couldHaveRunningContainers: couldRun };
  const becomesTerminal = !isTerminalPhase(api.phase) && isTerminalPhase(status.phase);
  const isHeld = becomesTerminal && input.couldHaveRunningContainers;
  const { phase, reason, message } = isHeld ? api : status;
  const merged = present<PodStatus>({
    ...status,
    phase,
    reason,
    message,
    conditions: clearReady(input, phase, mergeConditions(input, becomesTerminal)),
    ...foreignFields(api),
    // The kubelet owns it with the gate CSIVolumeHealth only.
    volumeHealth: status.volumeHealth?.length ? status.volumeHealth : api.volumeHealth,
  });
  return normalizeStatus(input.pod, merged.conditions?.length === 0 ? withoutConditions(merged) : merged);
}

function showsRunning({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): boolean {
  return [...initContainerStatuses, ...containerStatuses].some(({ state }) => state?.running !== undefined);
}

/** Fields of the API that the kubelet does not generate, even unknown ones of a later API server: a patch must not remove them. */
function foreignFields(api: PodStatus): Partial<PodStatus> {
  const absent = Object.fromEntries(keptFields.map((name) => [name, undefined]));
  return { ...absent, ...Object.fromEntries(Object.entries(api).filter(([name]) => !isGenerated(name))) };
}

function mergeConditions(
  { api, status, couldHaveRunningContainers, nowMs }: MergeInput,
  becomesTerminal: boolean,
): PodCondition[] {
  const before = api.conditions ?? [];
  const foreign = before.filter(({ type }) => !ownedConditions.includes(type));
  const own = (status.conditions ?? []).filter(({ type }) => ownedConditions.includes(type));
  const disruption = status.conditions?.find(({ type }) => type === sharedCondition);
  if (disruption === undefined || !becomesTerminal || couldHaveRunningContainers) return [...foreign, ...own];
  const previous = before.find(({ type }) => type === sharedCondition);
  const fresh: PodCondition = {
    ...disruption,
    lastTransitionTime:
      previous?.status === disruption.status ? (previous.lastTransitionTime ?? noTime) : apiTime(nowMs),
  };
  // It replaces the existing condition, or follows the other foreign ones.
  return previous === undefined
    ? [...foreign, fresh, ...own]
    : [...foreign.map((each) => (each.type === sharedCondition ? fresh : each)), ...own];
}

function clearReady(
  input: MergeInput,
  phase: string | undefined,
  conditions: PodCondition[],
): PodCondition[] {
  const readiness = ['Ready', 'ContainersReady'];
  const claimsReady = conditions.some(({ type, status }) => readiness.includes(type) && status === 'True');
  if (phase === undefined || !isTerminalPhase(phase) || !claimsReady) return conditions;
  const options = {
    before: conditions,
    generation: input.pod.metadata?.generation,
    // Decided when the conditions were generated.
    tracksGeneration: false,
    nowMs: input.nowMs,
  };
  return conditions.map((condition) =>
    readiness.includes(condition.type)
      ? stampCondition(condition.type, terminalVerdict(phase), options)
      : condition,
  );
}

function withoutConditions(status: PodStatus): PodStatus {
  const { conditions: _none, ...rest } = status;
  return rest;
}
