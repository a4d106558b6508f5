// The statuses of a pod's containers: what the runtime holds, what the last start stumbled over, and what was known
// before where the runtime says nothing. Pure. Upstream: convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go
// and UpdatePodStatus in pkg/kubelet/prober (started, ready).
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
import { statusOf } from './pod-traits.ts';

type ContainerKind = 'app' | 'init' | 'ephemeral';

/** What the probes say of a container; undefined while they have not said anything. */
export interface ProbeView {
  started(id: ContainerId): boolean | undefined;
  ready(id: ContainerId): boolean | undefined;
}

export interface ContainerView extends NodeView {
  /** Newest first. */
  readonly containers: readonly ObservedContainer[];
  readonly restartPolicy: string | undefined;
  readonly hasInitContainers: boolean;
  /** The pod is on its way out: nothing will be started again. */
  readonly ending: boolean;
  /** The pod is being stopped and not all of it is down: what has ended meanwhile is reported with the rest. */
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
    const old = statusOf(before, spec.name);
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
  // differs from upstream: one that was made and not started is about to be, and does not count yet. There it waits for no
  // reason, with its restart already counted.
  const [newest, earlier] = view.containers.filter(
    ({ name, state }) => name === spec.name && state !== 'created',
  );
  if (newest === undefined) return unseenStatus(view, spec, old);
  if (view.holding && newest.state === 'exited' && old !== undefined && ran(old, view, newest.id)) return old;
  const status = observedStatus(spec, newest, old, view);
  if (earlier === undefined) return status;
  return { ...status, lastState: stateOf(earlier, formatContainerId(view.runtimeName, earlier.id)) };
}

function ran(old: ContainerStatus, view: ContainerView, id: ContainerId): boolean {
  return old.state?.running !== undefined && old.containerID === formatContainerId(view.runtimeName, id);
}

/** Nothing of this container is in the runtime: it was not made yet, or it is gone. */
function unseenStatus(
  view: ContainerView,
  spec: ContainerSpec,
  old: ContainerStatus | undefined,
): ContainerStatus {
  // What ended once stays ended, also when its remains were collected.
  if (old?.state?.terminated !== undefined) return old;
  const lost = old?.state?.running !== undefined && old.lastState?.terminated === undefined;
  return present<ContainerStatus>({
    name: spec.name,
    state: { waiting: { reason: view.hasInitContainers ? 'PodInitializing' : 'ContainerCreating' } },
    // A container that ran and is nowhere to be found did end: without this the pod would seem never to have started.
    lastState: lost ? { terminated: lostState('deleted') } : (old?.lastState ?? {}),
    ready: false,
    restartCount: (old?.restartCount ?? 0) + (lost && !view.ending ? 1 : 0),
    image: spec.image ?? '',
    imageID: '',
    volumeMounts: volumeMountStatuses(spec.volumeMounts, view.supportsRecursiveReadOnly),
  });
}

/** A container that is to be started and could not be waits, for the reason its last attempt met. */
function withWaitingReason(
  view: ContainerView,
  kind: ContainerKind,
  spec: ContainerSpec,
  status: ContainerStatus,
): ContainerStatus {
  const why = view.waiting[spec.name];
  if (why === undefined || !willStart(view, kind, spec)) return status;
  const state: ContainerState = {
    waiting: present<{ reason?: string; message?: string }>({
      reason: nonEmpty(why.reason),
      message: nonEmpty(why.message),
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
  const said = id === undefined ? undefined : view.probes[what](id);
  if (said !== undefined) return said;
  // differs from upstream: until the first probe after a restart of the kubelet the same container keeps what was
  // reported of it, so that a restart makes no ready pod unready.
  return old?.containerID === status.containerID && old?.[what] === true;
}
