// What is sent to the API: the kubelet's status laid over the one the API has. Pure.
// Invariants: conditions of others survive; a terminal phase is only sent once nothing of the pod can still run, since
// others free its exclusive resources then; a terminal phase is never sent together with Ready.
// Upstream: mergePodStatus in pkg/kubelet/status/status_manager.go.
import type { Pod, PodCondition, PodStatus } from '../../api/k8s/types.ts';
import { isTerminalPhase } from '../../api/pod/active-pod.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { apiTime, noTime, present } from '../api-fields.ts';
import { ownedConditions, sharedCondition, stampCondition, terminalVerdict } from '../conditions.ts';
import { normalizeStatus } from './normalize-status.ts';

interface MergeInput {
  readonly pod: Pod;
  /** The status as the API has it. */
  readonly api: PodStatus;
  /** The status as generated. */
  readonly status: PodStatus;
  readonly couldHaveRunningContainers: boolean;
  readonly nowMs: number;
}

/** Until the worker says it is over, or all of a pod being stopped was seen down, something may run. */
export function couldHaveRunningContainers(
  lifecycle: PodLifecycle | undefined,
  observed: ObservedPod | undefined,
): boolean {
  if (lifecycle?.state === 'terminating') return !isDown(observed);
  return lifecycle?.state === 'syncing';
}

export function mergePodStatus(input: MergeInput): PodStatus {
  const { api, status } = input;
  const ending = !isTerminalPhase(api.phase) && isTerminalPhase(status.phase);
  const held = ending && input.couldHaveRunningContainers;
  const { phase, reason, message } = held ? api : status;
  const merged = present<PodStatus>({
    ...status,
    phase,
    reason,
    message,
    conditions: readyIsOver(input, phase, mergeConditions(input, ending)),
    // The kubelet neither owns nor changes these.
    resourceClaimStatuses: api.resourceClaimStatuses,
    extendedResourceClaimStatus: api.extendedResourceClaimStatus,
  });
  return normalizeStatus(input.pod, merged.conditions?.length === 0 ? withoutConditions(merged) : merged);
}

function mergeConditions(
  { api, status, couldHaveRunningContainers, nowMs }: MergeInput,
  ending: boolean,
): PodCondition[] {
  const before = api.conditions ?? [];
  const foreign = before.filter(({ type }) => !ownedConditions.includes(type));
  const own = (status.conditions ?? []).filter(({ type }) => ownedConditions.includes(type));
  const disruption = status.conditions?.find(({ type }) => type === sharedCondition);
  if (disruption === undefined || !ending || couldHaveRunningContainers) return [...foreign, ...own];
  const known = before.find(({ type }) => type === sharedCondition);
  const fresh: PodCondition = {
    ...disruption,
    lastTransitionTime:
      known?.status === disruption.status ? (known.lastTransitionTime ?? noTime) : apiTime(nowMs),
  };
  // It takes the place of the one that was there, or comes after the other foreign ones.
  return known === undefined
    ? [...foreign, fresh, ...own]
    : [...foreign.map((each) => (each.type === sharedCondition ? fresh : each)), ...own];
}

function readyIsOver(
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
    // Whether it is told was decided when the conditions were generated.
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
