// Computes the statuses of a pod's containers from the runtime's state and the reason why the last start failed. Where the
// runtime reports nothing, the previous status is kept. Pure. Upstream: convertToAPIContainerStatuses in
// pkg/kubelet/kubelet_pods.go and UpdatePodStatus in pkg/kubelet/prober (started, ready).
import type { ContainerState, ContainerStatus } from '../api/k8s/types.ts';
import type { ObservedContainer } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import { type ContainerId, formatContainerId, parseContainerId } from '../api/pod/pod-ref.ts';
import { isSidecar, restartsAfter } from '../api/pod/restart-policy.ts';
import { nonEmpty, present } from './api-fields.ts';
import {
  type ContainerSpec,
  lostState,
  type NodeView,
  observedStatus,
  stateOf,
  volumeMountStatuses,
} from './container-state.ts';
import { findContainerStatus } from './find-container-status.ts';

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
  /** The pod is being terminated or deleted: no container will be started again. */
  readonly ending: boolean;
  /** The pod is terminating and not all of it has stopped: containers that exited meanwhile are reported with the last. */
  readonly holding: boolean;
  readonly waiting: Readonly<Record<string, WaitingReason>>;
  readonly probes: ProbeView | undefined;
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
    const status = withWaitingReason(view, kind, spec, currentStatus(view, spec, old));
    return kind === 'ephemeral' ? status : withReadiness(view, kind, spec, status, old);
  });
  return kind === 'init' ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
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
  if (view.holding && newest.state === 'exited' && old !== undefined && ran(old, view, newest.id)) return old;
  const status = observedStatus(spec, newest, old, view);
  if (earlier === undefined) return status;
  return { ...status, lastState: stateOf(earlier, formatContainerId(view.runtimeName, earlier.id)) };
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
  const restarts = { podPolicy: view.restartPolicy, rules: view.gates.ContainerRestartRules };
  return restartsAfter(restarts, spec, newest.exitCode);
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
    return { ...status, started, ready: status.state?.terminated?.exitCode === 0 };
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
