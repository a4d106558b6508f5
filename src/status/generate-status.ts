// Generates a pod's API status from its spec, the observed containers and its worker's state.
// Pure; times come from the observation, from the previous status or from `nowMs`.
// Invariants: a terminal phase stays; a transition time changes only with its condition's status; generating again with
// the result as the previous status changes nothing.
// Upstream: generateAPIPodStatus and convertStatusToAPIStatus in pkg/kubelet/kubelet_pods.go, with the additions of
// SetPodStatus and TerminatePod in pkg/kubelet/status/status_manager.go.
import type {
  Container,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
  ResourceRequirements,
  ResourceStatus,
  VolumeHealthCondition,
} from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { firstSeenMs, isDown, type ObservedPod } from '../api/pod/observed.ts';
import { computePodAddresses } from '../api/pod/pod-ips.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { podQosClass } from '../api/pod/qos.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import type { ResizeConditions } from '../api/ports/resize-conditions.ts';
import { apiTime, nonEmpty, present } from './api-fields.ts';
import {
  computeConditions,
  ownedConditions,
  sharedCondition,
  stampCondition,
  terminalVerdict,
} from './conditions.ts';
import { type ContainerView, containerStatuses, type ProbeView } from './container-status.ts';
import { computePhase } from './phase.ts';
import { type CgroupReading, podResourceFields } from './pod-resources.ts';
import { normalizeStatus } from './push/normalize-status.ts';
import { isRestartEnabled, isRestartingAll } from './restart-all.ts';
import { defaultStatusGates, type StatusGates } from './status-gates.ts';
import { terminatedStatus } from './terminate.ts';
import { computeVolumeHealth } from './volume-health.ts';

export interface StatusInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly lifecycle: PodLifecycle;
  /** The last generated status; if undefined, the status of the API object is the base. */
  readonly previous: PodStatus | undefined;
  /** The node's addresses, primary first; empty without an API server. */
  readonly hostIPs: readonly string[];
  readonly nowMs: number;
  /** The runtime's own name, used as the scheme of container IDs. */
  readonly runtimeName: string;
  /** Undefined: nothing is probed, so a running container is started and ready. */
  readonly probes?: ProbeView;
  /** Defaults to upstream's defaults. */
  readonly gates?: StatusGates;
  readonly supportsRecursiveReadOnly?: boolean;
  /** Conditions of the pod's resize, if one is pending or in progress. */
  readonly resize?: ResizeConditions | undefined;
  /** The resources last applied to a container; undefined if not recorded. */
  readonly actuated?: (container: string) => ResourceRequirements | undefined;
  /** The health of a container's devices. */
  readonly devices?: ((container: string) => readonly ResourceStatus[]) | undefined;
  /** The conditions of a volume; undefined if nothing is known about it. */
  readonly volumeHealth?: ((volume: string) => readonly VolumeHealthCondition[] | undefined) | undefined;
  /** The settings of the pod's cgroup as last read; undefined if never. */
  readonly cgroup?: CgroupReading | undefined;
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
    ...phaseReason(input, old, phase),
    conditions: computeConditions({
      pod,
      observed: input.observed,
      sandboxReady: lifecycle.state === 'syncing' && lifecycle.sandboxReady === true,
      statuses: statusesOf(containers),
      // A killed pod is as ready as its containers while they run, since its phase is not reported before they have stopped.
      phase: podIsTerminal || killOf(input) === undefined ? phase : livePhase(input, containers, false),
      foreign: foreignConditions(input, old),
      before: old.conditions ?? [],
      resize: podIsTerminal ? undefined : input.resize,
      final: ended && isTerminalPhase(old.phase) && (killOf(input) === undefined || hasTerminalVerdict(old)),
      gates,
      nowMs: input.nowMs,
    }),
    startTime: startTime(input, old),
    qosClass: podQosClass(pod),
    ...podResourceFields(pod, old, input.cgroup, gates),
    ...containers,
    volumeHealth: input.volumeHealth && computeVolumeHealth(pod, old, input.volumeHealth, input.nowMs),
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
    mayRestartAll: isRestartEnabled(pod, gatesOf(input)),
    restartingAll: isRestartEnabled(pod, gatesOf(input)) && isRestartingAll(pod, observed, old),
    hasRegularContainer: hasRegularContainer(pod, observed),
    ending: lifecycle.state !== 'syncing' || pod.metadata?.deletionTimestamp !== undefined,
    holding: lifecycle.state === 'terminating' && !podIsTerminal,
    replacing: lifecycle.state === 'syncing' ? (lifecycle.replacing ?? []) : [],
    waiting: lifecycle.state === 'syncing' ? lifecycle.waiting : {},
    supportsRecursiveReadOnly: input.supportsRecursiveReadOnly ?? false,
    gates: gatesOf(input),
    actuated: input.actuated,
    devices: input.devices,
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
  // A terminal phase that the API already has is final: not even another terminal phase replaces it.
  if (pod.status?.phase !== undefined && isTerminalPhase(pod.status.phase)) return pod.status.phase;
  if (killOf(input) !== undefined) return 'Failed';
  const phase = livePhase(input, containers, podIsTerminal);
  if (!isTerminalPhase(phase) && old.phase !== undefined && isTerminalPhase(old.phase)) return old.phase;
  // No container of a terminated pod starts any more, so a Pending pod does not become Running.
  if (input.lifecycle.state === 'terminated' && phase === 'Running' && old.phase === 'Pending')
    return old.phase;
  return phase;
}

/** The phase that the containers make. */
function livePhase(input: StatusInput, containers: ContainerFields, podIsTerminal: boolean): string {
  const { pod, observed } = input;
  return computePhase({
    pod,
    statuses: statusesOf(containers),
    podIsTerminal,
    hasInitialized: hasActiveRegularContainer(pod, observed),
    restartRules: gatesOf(input).ContainerRestartRules,
    restartAll: gatesOf(input).RestartAllContainersOnContainerExits,
  });
}

function statusesOf({
  containerStatuses = [],
  initContainerStatuses = [],
}: ContainerFields): ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

function hasRegularContainer(pod: Pod, observed: ObservedPod | undefined): boolean {
  const names = new Set((pod.spec?.containers ?? []).map(({ name }) => name));
  return observed?.containers.some((each) => names.has(each.name) && each.state !== 'unknown') === true;
}

/** Whether a regular container exists in the newest sandbox, and that sandbox is ready. */
function hasActiveRegularContainer(pod: Pod, observed: ObservedPod | undefined): boolean {
  const newest = observed?.sandboxes[0];
  if (observed === undefined || newest?.ready !== true) return false;
  const regular = new Set((pod.spec?.containers ?? []).map((container) => container.name));
  return observed.containers.some((each) => each.sandboxId === newest.id && regular.has(each.name));
}

/** Reason and message belong to the phase: they stay as long as it does. */
function phaseReason(
  input: StatusInput,
  old: PodStatus,
  phase: string,
): Pick<PodStatus, 'reason' | 'message'> {
  const kill = killOf(input);
  // A terminal phase that the API already has keeps its reason and message.
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

/** Other controllers' conditions from the API object, and the shared condition as the kubelet last reported it. */
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

/** False for a killed pod whose containers still ran, since its conditions are theirs. */
function hasTerminalVerdict({ phase = '', conditions = [] }: PodStatus): boolean {
  const { reason } = terminalVerdict(phase);
  return conditions.some((condition) => condition.type === 'ContainersReady' && condition.reason === reason);
}

/** Why the kubelet killed the pod, for controllers that decide whether to replace it. */
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

/** Set if the kubelet killed the pod: eviction, preemption, shutdown, active deadline. */
function killOf({ lifecycle }: StatusInput): PodKill | undefined {
  return lifecycle.state === 'terminating' || lifecycle.state === 'terminated' ? lifecycle.kill : undefined;
}

function gatesOf(input: StatusInput): StatusGates {
  return input.gates ?? defaultStatusGates;
}

/** Never decreases; absent for pods without a generation, such as static pods. */
function observedGeneration(input: StatusInput, old: PodStatus): number | undefined {
  const before = old.observedGeneration ?? 0;
  // Once reported, the generation is kept up to date even if the gate is off.
  if (!gatesOf(input).PodObservedGenerationTracking && before === 0) return undefined;
  const generation = Math.max(input.pod.metadata?.generation ?? 0, before);
  return generation === 0 ? undefined : generation;
}

function startTime(input: StatusInput, old: PodStatus): string {
  if (old.startTime !== undefined && old.startTime !== null) return old.startTime;
  // differs from upstream: without an API server that stores it, a restarted kubelet derives it from the oldest sandbox.
  const { startedAtMs } = input.lifecycle;
  return apiTime(Math.min(startedAtMs, firstSeenMs(input.observed) ?? startedAtMs));
}
