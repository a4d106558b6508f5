// What the API shall show of a pod, from what was asked for, what the runtime holds and where the pod's worker stands.
// Pure; times come from the observation, from the previous status or from `nowMs`.
// Invariants: a terminal phase stays; transition times move only with the status they belong to; the same input, with
// its own result as the previous status, gives the same result again.
// Upstream: generateAPIPodStatus and convertStatusToAPIStatus in pkg/kubelet/kubelet_pods.go, and what SetPodStatus and
// TerminatePod in pkg/kubelet/status/status_manager.go add to it.
import type {
  Container,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
  ResourceRequirements,
} from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { firstSeenMs, isDown, type ObservedPod } from '../api/pod/observed.ts';
import { computePodAddresses } from '../api/pod/pod-ips.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { podQosClass } from '../api/pod/qos.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import type { ResizeConditions } from '../api/ports/resize-conditions.ts';
import { apiTime, nonEmpty, present } from './api-fields.ts';
import { computeConditions, ownedConditions, sharedCondition, stampCondition } from './conditions.ts';
import { type ContainerView, containerStatuses, type ProbeView } from './container-status.ts';
import { computePhase } from './phase.ts';
import { normalizeStatus } from './push/normalize-status.ts';
import { defaultStatusGates, type StatusGates } from './status-gates.ts';
import { terminatedStatus } from './terminate.ts';

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly lifecycle: PodLifecycle;
  /** What was generated last; without one the status in the pod's object is the base. */
  readonly previous: PodStatus | undefined;
  /** The node's addresses, primary first; empty when there is no API server to tell them to. */
  readonly hostIPs: readonly string[];
  readonly nowMs: number;
  /** As the runtime calls itself: the scheme of container IDs. */
  readonly runtimeName: string;
  /** Undefined: nothing is probed, so what runs is started and ready. */
  readonly probes?: ProbeView;
  /** As upstream has them by default, unless told. */
  readonly gates?: StatusGates;
  readonly supportsRecursiveReadOnly?: boolean;
  /** Of the pod's resize, if there is one. */
  readonly resize?: ResizeConditions | undefined;
  /** What a container was last given; undefined when nobody remembers. */
  readonly actuated?: (container: string) => ResourceRequirements | undefined;
}

export function generatePodStatus(input: StatusInput): PodStatus {
  const { pod, lifecycle } = input;
  const gates = gatesOf(input);
  const old = input.previous ?? pod.status ?? {};
  if (lifecycle.state === 'rejected') return normalizeStatus(pod, rejectedStatus(input, old, lifecycle));
  const ended = lifecycle.state === 'terminated';
  const podIsTerminal = ended || (lifecycle.state === 'terminating' && isDown(input.observed));
  const containers = allContainerStatuses(input, old, podIsTerminal);
  const phase = settledPhase(input, old, containers, podIsTerminal);
  const status = present<PodStatus>({
    ...computePodAddresses(input.observed, pod.spec?.hostNetwork === true, input.hostIPs, old),
    observedGeneration: observedGeneration(input, old),
    phase,
    ...phaseWords(input, old, phase),
    conditions: computeConditions({
      pod,
      observed: input.observed,
      statuses: [...(containers.initContainerStatuses ?? []), ...(containers.containerStatuses ?? [])],
      phase,
      foreign: foreignConditions(input, old),
      before: old.conditions ?? [],
      resize: podIsTerminal ? undefined : input.resize,
      final: ended && isTerminalPhase(old.phase),
      gates,
      nowMs: input.nowMs,
    }),
    startTime: startTime(input, old),
    qosClass: podQosClass(pod),
    ...containers,
  });
  return normalizeStatus(pod, ended ? terminatedStatus(pod, status) : status);
}

function rejectedStatus(
  input: StatusInput,
  old: PodStatus,
  lifecycle: { readonly reason: string; readonly message: string },
): PodStatus {
  return present<PodStatus>({
    observedGeneration: observedGeneration(input, old),
    phase: 'Failed',
    reason: lifecycle.reason,
    message: `Pod was rejected: ${lifecycle.message}`,
    startTime: startTime(input, old),
    qosClass: podQosClass(input.pod),
  });
}

type ContainerFields = Pick<
  PodStatus,
  'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses'
>;

function allContainerStatuses(input: StatusInput, old: PodStatus, podIsTerminal: boolean): ContainerFields {
  const { pod, lifecycle, observed } = input;
  const spec = pod.spec;
  const initContainers = spec?.initContainers ?? [];
  const view: ContainerView = {
    containers: observed?.containers ?? [],
    runtimeName: input.runtimeName,
    restartPolicy: spec?.restartPolicy,
    hasInitContainers: initContainers.length > 0,
    ending: lifecycle.state !== 'syncing' || pod.metadata?.deletionTimestamp !== undefined,
    holding: lifecycle.state === 'terminating' && !podIsTerminal,
    waiting: lifecycle.state === 'syncing' ? lifecycle.waiting : {},
    supportsRecursiveReadOnly: input.supportsRecursiveReadOnly ?? false,
    gates: gatesOf(input),
    actuated: input.actuated,
    probes: input.probes,
  };
  const some = (statuses: ContainerStatus[]): ContainerStatus[] | undefined =>
    statuses.length === 0 ? undefined : statuses;
  const ephemeral = (spec?.ephemeralContainers ?? []) as readonly Container[];
  return present<ContainerFields>({
    initContainerStatuses: some(
      containerStatuses(view, 'init', initContainers, old.initContainerStatuses ?? []),
    ),
    containerStatuses: some(
      containerStatuses(view, 'app', spec?.containers ?? [], old.containerStatuses ?? []),
    ),
    ephemeralContainerStatuses: some(
      containerStatuses(view, 'ephemeral', ephemeral, old.ephemeralContainerStatuses ?? []),
    ),
  });
}

function settledPhase(
  input: StatusInput,
  old: PodStatus,
  containers: ContainerFields,
  podIsTerminal: boolean,
): string {
  const { pod } = input;
  // What the API already shows as an end cannot be taken back, not even by another end.
  if (pod.status?.phase !== undefined && isTerminalPhase(pod.status.phase)) return pod.status.phase;
  if (killOf(input) !== undefined) return 'Failed';
  const phase = computePhase({
    pod,
    statuses: [...(containers.containerStatuses ?? []), ...(containers.initContainerStatuses ?? [])],
    podIsTerminal,
    hasInitialized: hasActiveRegularContainer(pod, input.observed),
    restartRules: gatesOf(input).ContainerRestartRules,
  });
  if (!isTerminalPhase(phase) && old.phase !== undefined && isTerminalPhase(old.phase)) return old.phase;
  // Nothing of a terminated pod starts any more, so one that never ran does not begin to.
  if (input.lifecycle.state === 'terminated' && phase === 'Running' && old.phase === 'Pending')
    return old.phase;
  return phase;
}

/** A regular container exists in the newest, ready sandbox. */
function hasActiveRegularContainer(pod: Pod, observed: ObservedPod | undefined): boolean {
  const newest = observed?.sandboxes[0];
  if (observed === undefined || newest?.ready !== true) return false;
  const regular = new Set((pod.spec?.containers ?? []).map((container) => container.name));
  return observed.containers.some((each) => each.sandboxId === newest.id && regular.has(each.name));
}

/** Reason and message belong to the phase: they stay as long as it does. */
function phaseWords(
  input: StatusInput,
  old: PodStatus,
  phase: string,
): Pick<PodStatus, 'reason' | 'message'> {
  const kill = killOf(input);
  // An end that the API already has keeps its own words.
  if (kill !== undefined && !isTerminalPhase(input.pod.status?.phase)) {
    return { reason: kill.reason, message: kill.message };
  }
  if (phase !== old.phase) return {};
  const { status } = input.pod;
  return present<Pick<PodStatus, 'reason' | 'message'>>({
    reason: nonEmpty(old.reason) ?? nonEmpty(status?.reason),
    message: nonEmpty(old.message) ?? nonEmpty(status?.message),
  });
}

/** Conditions of others as the pod's object has them, and what the kubelet shares with them as it last said it. */
function foreignConditions(input: StatusInput, old: PodStatus): PodCondition[] {
  const given = (input.pod.status?.conditions ?? []).filter(({ type }) => !ownedConditions.includes(type));
  const shared = old.conditions?.find(({ type }) => type === sharedCondition);
  const killed = killCondition(input, old);
  return [shared, killed].reduce<PodCondition[]>((foreign, condition) => {
    if (condition === undefined) return foreign;
    return foreign.some(({ type }) => type === condition.type)
      ? foreign.map((each) => (each.type === condition.type ? condition : each))
      : [...foreign, condition];
  }, given);
}

/** Why the node ended the pod, for those who decide whether to make it anew. */
function killCondition(input: StatusInput, old: PodStatus): PodCondition | undefined {
  const condition = killOf(input)?.condition;
  if (condition === undefined) return undefined;
  return stampCondition(condition.type, condition, {
    before: old.conditions ?? [],
    generation: input.pod.metadata?.generation,
    tracksGeneration: gatesOf(input).PodObservedGenerationTracking,
    nowMs: input.nowMs,
  });
}

/** Set when the node gave the pod up: eviction, preemption, shutdown, a deadline. */
function killOf({ lifecycle }: StatusInput): PodKill | undefined {
  return lifecycle.state === 'terminating' || lifecycle.state === 'terminated' ? lifecycle.kill : undefined;
}

function gatesOf(input: StatusInput): StatusGates {
  return input.gates ?? defaultStatusGates;
}

/** Never smaller than it was; absent for pods without a generation, as static ones are. */
function observedGeneration(input: StatusInput, old: PodStatus): number | undefined {
  const before = old.observedGeneration ?? 0;
  // Once told it is kept up to date, whatever the gate says.
  if (!gatesOf(input).PodObservedGenerationTracking && before === 0) return undefined;
  const generation = Math.max(input.pod.metadata?.generation ?? 0, before);
  return generation === 0 ? undefined : generation;
}

function startTime(input: StatusInput, old: PodStatus): string {
  if (old.startTime !== undefined && old.startTime !== null) return old.startTime;
  // differs from upstream: without an API server to remember it, a restarted kubelet takes it from the oldest sandbox.
  const { startedAtMs } = input.lifecycle;
  return apiTime(Math.min(startedAtMs, firstSeenMs(input.observed) ?? startedAtMs));
}
