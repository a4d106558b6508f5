// Converts one observed container to the API's container status. Pure.
// Upstream: convertContainerStatus in pkg/kubelet/kubelet_pods.go.
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  ContainerUser,
  ResourceRequirements,
  VolumeMount,
  VolumeMountStatus,
} from '../api/k8s/types.ts';
import type { ObservedContainer } from '../api/pod/observed.ts';
import { formatContainerId } from '../api/pod/pod-ref.ts';
import { apiTime, nonEmpty, noTime, present } from './api-fields.ts';
import { enactedResources, nonEmptyMap } from './container-resources.ts';
import type { StatusGates } from './status-gates.ts';

/** The spec fields that a container status needs; ephemeral containers have them too. */
export type ContainerSpec = Pick<
  Container,
  | 'name'
  | 'image'
  | 'resources'
  | 'volumeMounts'
  | 'restartPolicy'
  | 'restartPolicyRules'
  | 'startupProbe'
  | 'readinessProbe'
>;

const unknownReason = 'ContainerStatusUnknown';
const killedExitCode = 137;

/** The terminated state of a container that ran and vanished without an exit being observed. Reported as killed. */
export function lostState(when: 'terminated' | 'deleted'): ContainerStateTerminated {
  const message =
    when === 'terminated'
      ? 'The container could not be located when the pod was terminated'
      : 'The container could not be located when the pod was deleted.  The container used to be Running';
  return { exitCode: killedExitCode, reason: unknownReason, message, startedAt: noTime, finishedAt: noTime };
}

export interface NodeView {
  readonly runtimeName: string;
  readonly supportsRecursiveReadOnly: boolean;
  /** The resources last applied to a container; undefined if not recorded. */
  readonly actuated?: ((container: string) => ResourceRequirements | undefined) | undefined;
  readonly gates: StatusGates;
}

export function observedStatus(
  spec: ContainerSpec,
  observed: ObservedContainer,
  old: ContainerStatus | undefined,
  node: NodeView,
): ContainerStatus {
  const containerID = formatContainerId(node.runtimeName, observed.id);
  const lost = wasLost(observed, old, containerID);
  const ranBefore = old?.state?.running !== undefined && old.containerID === containerID;
  return present<ContainerStatus>({
    name: spec.name,
    state: lost?.state ?? stateOf(observed, containerID),
    lastState: reportedEnd(old, containerID),
    ready: false,
    restartCount: lost?.restartCount ?? observed.restartCount,
    image: observed.image,
    imageID: observed.imageRef,
    containerID,
    ...(node.gates.InPlacePodVerticalScaling && {
      allocatedResources: nonEmptyMap(spec.resources?.requests),
      resources: enactedResources(
        spec.resources,
        observed,
        ranBefore ? old : undefined,
        node.actuated?.(spec.name),
      ),
    }),
    volumeMounts: volumeMountStatuses(
      spec.volumeMounts,
      node.supportsRecursiveReadOnly,
      observed.recursiveReadOnly ?? [],
    ),
    user: node.gates.SupplementalGroupsPolicy ? userOf(observed) : undefined,
    stopSignal: node.gates.ContainerStopSignals ? observed.stopSignal : undefined,
  });
}

/** The end last reported. An earlier container that the runtime still has replaces it. */
function reportedEnd(old: ContainerStatus | undefined, containerID: string): ContainerState {
  const terminated =
    old?.containerID !== containerID && old?.state?.terminated !== undefined
      ? old.state.terminated
      : old?.lastState?.terminated;
  return terminated === undefined ? {} : { terminated };
}

function userOf({ user }: ObservedContainer): ContainerUser | undefined {
  if (user === undefined) return undefined;
  const { uid, gid, supplementalGroups } = user;
  return {
    linux: {
      uid,
      gid,
      ...(supplementalGroups.length === 0 ? {} : { supplementalGroups: [...supplementalGroups] }),
    },
  };
}

export function stateOf(observed: ObservedContainer, containerID: string): ContainerState {
  if (observed.state === 'running') return { running: { startedAt: apiTime(observed.startedAtMs) } };
  if (observed.state !== 'exited') return { waiting: {} };
  return {
    terminated: present<ContainerStateTerminated>({
      exitCode: observed.exitCode,
      reason: nonEmpty(observed.reason),
      message: nonEmpty(observed.message),
      // The epoch for a container that never started, as the runtime reports it.
      startedAt: apiTime(observed.startedAtMs),
      finishedAt: apiTime(observed.finishedAtMs),
      containerID,
    }),
  };
}

/** A container in state unknown that is known to have run: reported as failed, not as waiting for its first start. */
function wasLost(
  observed: ObservedContainer,
  old: ContainerStatus | undefined,
  containerID: string,
): { state: ContainerState; restartCount: number } | undefined {
  if (observed.state !== 'unknown' || old?.state === undefined || old.containerID !== containerID)
    return undefined;
  if (old.state.running !== undefined) {
    return { state: { terminated: lostState('terminated') }, restartCount: old.restartCount + 1 };
  }
  // differs from upstream: once reported, the state stays; upstream turns it into "waiting" on the next sync.
  return old.state.terminated?.reason === unknownReason
    ? { state: old.state, restartCount: old.restartCount }
    : undefined;
}

/** The mounts as requested. The runtime does not know volume names, so they come from the spec. */
export function volumeMountStatuses(
  mounts: readonly VolumeMount[] | undefined,
  supportsRecursiveReadOnly: boolean,
  recursive: readonly string[] = [],
): VolumeMountStatus[] | undefined {
  if (mounts === undefined || mounts.length === 0) return undefined;
  return mounts.map((mount) =>
    present<VolumeMountStatus>({
      name: mount.name,
      mountPath: mount.mountPath,
      readOnly: mount.readOnly === true ? true : undefined,
      recursiveReadOnly:
        mount.readOnly === true
          ? recursiveMode(mount, supportsRecursiveReadOnly || recursive.includes(mount.mountPath))
          : undefined,
    }),
  );
}

function recursiveMode(mount: VolumeMount, supported: boolean): string {
  const requested = mount.recursiveReadOnly === 'Enabled' || mount.recursiveReadOnly === 'IfPossible';
  const propagates = mount.mountPropagation !== undefined && mount.mountPropagation !== 'None';
  return requested && supported && !propagates ? 'Enabled' : 'Disabled';
}
