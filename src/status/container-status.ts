// Computes the statuses of a pod's containers from the runtime's state and the reason why the last start failed. Where the
// runtime reports nothing, the previous status is kept. Pure. Upstream: convertToAPIContainerStatuses in
// pkg/kubelet/kubelet_pods.go and UpdatePodStatus in pkg/kubelet/prober (started, ready).
import type { ContainerState, ContainerStatus, ResourceStatus } from '../api/k8s/types.ts';
import type { ObservedContainer } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import { type ContainerId, formatContainerId, parseContainerId } from '../api/pod/pod-ref.ts';
import { isSidecar, restartsAfter } from '../api/pod/restart-policy.ts';
import { nonEmpty, noTime, present } from './api-fields.ts';
import {
  type ContainerSpec,
  lostState,
  type NodeView,
  observedStatus,
  stateOf,
  volumeMountStatuses,
} from './container-state.ts';
import { findContainerStatus } from './find-container-status.ts';
import { afterRestart, isRemoved, removedForRestart } from './restart-all.ts';

const unseenMessage =
  'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

type ContainerKind = 'app' | 'init' | 'ephemeral';

/** Probe results of a container; undefined before the first result. */
export interface ProbeView {
  started(id: ContainerId): boolean | undefined;
  ready(id: ContainerId): boolean | undefined;
}

export interface ContainerView extends NodeView {
  /** Newest first. */
  readonly containers: readonly ObservedContainer[];
  readonly restartPolicy: string | undefined;
  readonly hasInitContainers: boolean;
  /** A rule of the pod may restart all of its containers, and one does so now. */
  readonly mayRestartAll: boolean;
  readonly restartingAll: boolean;
  /** A regular container was created. */
  readonly hasRegularContainer: boolean;
  /** The pod is being terminated or deleted: no container will be started again. */
  readonly ending: boolean;
  /** The pod is terminating and not all of it has stopped: containers that exited meanwhile are reported with the last. */
  readonly holding: boolean;
  /** Containers that exit because the sync in progress replaces them. */
  readonly replacing: readonly string[];
  readonly waiting: Readonly<Record<string, WaitingReason>>;
  readonly probes: ProbeView | undefined;
  /** The health of a container's devices. */
  readonly devices: ((container: string) => readonly ResourceStatus[]) | undefined;
}

/** Init containers in the order of the spec, the others by name. */
export function containerStatuses(
  view: ContainerView,
  kind: ContainerKind,
  specs: readonly ContainerSpec[],
  before: readonly ContainerStatus[],
): ContainerStatus[] {
  const statuses = specs.map((spec) => {
    const old = findContainerStatus(before, spec.name);
    const status =
      completedUnseen(view, kind, spec, old) ??
      withWaitingReason(view, kind, spec, currentStatus(view, spec, old));
    if (kind === 'ephemeral') return status;
    const complete = withReadiness(view, kind, spec, status, old);
    return kind === 'init' ? complete : withDevices(view, complete, old);
  });
  return kind === 'init' ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A pod that is ending has released its devices: what was last reported of them stays. */
function withDevices(
  view: ContainerView,
  status: ContainerStatus,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const current = view.devices?.(status.name) ?? [];
  const devices = current.length === 0 && view.ending ? (old?.allocatedResourcesStatus ?? []) : current;
  return devices.length === 0 ? status : { ...status, allocatedResourcesStatus: [...devices] };
}

function currentStatus(
  view: ContainerView,
  spec: ContainerSpec,
  old: ContainerStatus | undefined,
): ContainerStatus {
  // differs from upstream: a created container that has not been started is about to be, and is ignored until then. Upstream
  // reports it as waiting without a reason, with its restart already counted.
  const [newest, earlier] = view.containers.filter(
    ({ name, state }) => name === spec.name && state !== 'created',
  );
  if (newest === undefined) return missingStatus(view, spec, old);
  const isHeld = view.holding || isReplaced(view, spec, newest);
  if (isHeld && newest.state === 'exited' && old !== undefined && ran(old, view, newest.id)) return old;
  const observed = observedStatus(spec, newest, old, view);
  const status = view.mayRestartAll
    ? afterRestart(observed, replacedStatus(view, spec, observed, old))
    : observed;
  if (earlier === undefined) return status;
  return { ...status, lastState: stateOf(earlier, formatContainerId(view.runtimeName, earlier.id)) };
}

/**
 * Whether the container is started again although its restart policy forbids it, because its definition has changed. The API
 * does not permit such a container to leave the terminated state, so its exit is reported with the start of the next one.
 */
function isReplaced(view: ContainerView, spec: ContainerSpec, { exitCode }: ObservedContainer): boolean {
  return view.replacing.includes(spec.name) && !policyRestarts(view, spec, exitCode);
}

/** The last status, as it would be had the removal of its container been reported before the next one was started. */
function replacedStatus(
  view: ContainerView,
  spec: ContainerSpec,
  { containerID }: ContainerStatus,
  old: ContainerStatus | undefined,
): ContainerStatus | undefined {
  const before = old?.containerID;
  if (!view.restartingAll || before === undefined || before === containerID || !isRemoved(old)) return old;
  const exists = view.containers.some(({ id }) => formatContainerId(view.runtimeName, id) === before);
  return exists ? old : removedForRestart(missingStatus(view, spec, undefined), old);
}

function ran(old: ContainerStatus, view: ContainerView, id: ContainerId): boolean {
  return old.state?.running !== undefined && old.containerID === formatContainerId(view.runtimeName, id);
}

/** The runtime has no such container: it was not created yet, or it was removed. */
function missingStatus(
  view: ContainerView,
  spec: ContainerSpec,
  old: ContainerStatus | undefined,
): ContainerStatus {
  if (view.restartingAll && isRemoved(old))
    return removedForRestart(missingStatus(view, spec, undefined), old);
  // A terminated container stays terminated, also after it was garbage-collected.
  if (old?.state?.terminated !== undefined) return old;
  const lost = old?.state?.running !== undefined && old.lastState?.terminated === undefined;
  return present<ContainerStatus>({
    name: spec.name,
    state: { waiting: { reason: view.hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    // A container that ran and is missing has terminated: without this the pod would seem never to have started.
    lastState: lost ? { terminated: lostState('deleted') } : (old?.lastState ?? {}),
    ready: false,
    restartCount: (old?.restartCount ?? 0) + (lost && !view.ending ? 1 : 0),
    image: spec.image ?? '',
    imageID: '',
    volumeMounts: volumeMountStatuses(spec.volumeMounts, view.supportsRecursiveReadOnly),
  });
}

/**
 * An init container that the runtime no longer has, in a pod whose regular containers exist: it must have completed. A pod whose
 * status is not stored, such as a static pod, would otherwise seem to wait for it forever.
 */
function completedUnseen(
  view: ContainerView,
  kind: ContainerKind,
  spec: ContainerSpec,
  old: ContainerStatus | undefined,
): ContainerStatus | undefined {
  if (kind !== 'init' || isSidecar(spec) || !view.hasRegularContainer || view.restartingAll) return undefined;
  if (view.containers.some(({ name }) => name === spec.name)) return undefined;
  const status = missingStatus(view, spec, old);
  if (status.state?.waiting === undefined) return undefined;
  const terminated = { exitCode: 0, reason: 'Completed', message: unseenMessage };
  return { ...status, state: { terminated: { ...terminated, startedAt: noTime, finishedAt: noTime } } };
}

/** A container that failed to start is waiting, with the reason of its last attempt. */
function withWaitingReason(
  view: ContainerView,
  kind: ContainerKind,
  spec: ContainerSpec,
  status: ContainerStatus,
): ContainerStatus {
  const reason = view.waiting[spec.name];
  if (reason === undefined || !willStart(view, kind, spec)) return status;
  const state: ContainerState = {
    waiting: present<{ reason?: string; message?: string }>({
      reason: nonEmpty(reason.reason),
      message: nonEmpty(reason.message),
    }),
  };
  return status.state?.terminated === undefined
    ? { ...status, state }
    : { ...status, state, lastState: status.state };
}

function willStart(view: ContainerView, kind: ContainerKind, spec: ContainerSpec): boolean {
  if (view.ending) return false;
  const newest = view.containers.find((container) => container.name === spec.name);
  if (newest === undefined) return true;
  if (newest.state === 'running') return false;
  if (newest.state !== 'exited') return true;
  if (kind === 'init' && newest.exitCode === 0) return false;
  return policyRestarts(view, spec, newest.exitCode);
}

function policyRestarts(
  { gates, restartPolicy }: ContainerView,
  spec: ContainerSpec,
  exitCode: number,
): boolean {
  const { ContainerRestartRules: rules, RestartAllContainersOnContainerExits: all } = gates;
  return restartsAfter({ podPolicy: restartPolicy, rules, all }, spec, exitCode);
}

function withReadiness(
  view: ContainerView,
  kind: ContainerKind,
  spec: ContainerSpec,
  status: ContainerStatus,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const started =
    status.state?.running !== undefined && probed(view, 'started', spec.startupProbe, status, old);
  if (kind === 'init' && !isSidecar(spec)) {
    // An init container that had completed stays ready until it runs again.
    const kept = view.restartingAll && status.state?.waiting !== undefined && status.ready;
    return { ...status, started, ready: kept || status.state?.terminated?.exitCode === 0 };
  }
  return { ...status, started, ready: started && probed(view, 'ready', spec.readinessProbe, status, old) };
}

function probed(
  view: ContainerView,
  what: 'started' | 'ready',
  probe: object | undefined,
  status: ContainerStatus,
  old: ContainerStatus | undefined,
): boolean {
  if (view.probes === undefined || probe === undefined) return true;
  const id = parseContainerId(status.containerID ?? '')?.id;
  const result = id === undefined ? undefined : view.probes[what](id);
  if (result !== undefined) return result;
  // differs from upstream: until the first probe after a restart of the kubelet a container keeps its reported state, so
  // that a restart makes no ready pod unready.
  return old?.containerID === status.containerID && old?.[what] === true;
}
