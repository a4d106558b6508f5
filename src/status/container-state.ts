// One observed container as the API shows it. Pure. Upstream: convertContainerStatus in pkg/kubelet/kubelet_pods.go.
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

/** What of a container's spec its status needs; ephemeral containers have these too. */
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

/** The end of a container that nobody saw: it ran, and is gone without a trace. Counted as killed. */
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
  /** What a container was last given; undefined when nobody remembers. */
  readonly actuated?: ((container: string) => ResourceRequirements | undefined) | undefined;
  readonly gates: StatusGates;
}

export function observedStatus(
  spec: ContainerSpec,
  seen: ObservedContainer,
  old: ContainerStatus | undefined,
  node: NodeView,
): ContainerStatus {
  const containerID = formatContainerId(node.runtimeName, seen.id);
  const lost = wasLost(seen, old, containerID);
  const ranBefore = old?.state?.running !== undefined && old.containerID === containerID;
  return present<ContainerStatus>({
    name: spec.name,
    state: lost?.state ?? stateOf(seen, containerID),
    lastState: {},
    ready: false,
    restartCount: lost?.restartCount ?? seen.restartCount,
    image: seen.image,
    imageID: seen.imageRef,
    containerID,
    ...(node.gates.InPlacePodVerticalScaling && {
      allocatedResources: nonEmptyMap(spec.resources?.requests),
      resources: enactedResources(
        spec.resources,
        seen,
        ranBefore ? old : undefined,
        node.actuated?.(spec.name),
      ),
    }),
    volumeMounts: volumeMountStatuses(
      spec.volumeMounts,
      node.supportsRecursiveReadOnly,
      seen.recursiveReadOnly ?? [],
    ),
    user: node.gates.SupplementalGroupsPolicy ? userOf(seen) : undefined,
    stopSignal: node.gates.ContainerStopSignals ? seen.stopSignal : undefined,
  });
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

export function stateOf(seen: ObservedContainer, containerID: string): ContainerState {
  if (seen.state === 'running') return { running: { startedAt: apiTime(seen.startedAtMs) } };
  if (seen.state !== 'exited') return { waiting: {} };
  return {
    terminated: present<ContainerStateTerminated>({
      exitCode: seen.exitCode,
      reason: nonEmpty(seen.reason),
      message: nonEmpty(seen.message),
      // One that never started has the epoch here, as the runtime reports it.
      startedAt: apiTime(seen.startedAtMs),
      finishedAt: apiTime(seen.finishedAtMs),
      containerID,
    }),
  };
}

/** The runtime has it but cannot say what became of it, while we know that it ran: it failed, it did not "never start". */
function wasLost(
  seen: ObservedContainer,
  old: ContainerStatus | undefined,
  containerID: string,
): { state: ContainerState; restartCount: number } | undefined {
  if (seen.state !== 'unknown' || old?.state === undefined || old.containerID !== containerID)
    return undefined;
  if (old.state.running !== undefined) {
    return { state: { terminated: lostState('terminated') }, restartCount: old.restartCount + 1 };
  }
  // differs from upstream: said once, it stays said; there the next look turns it into "waiting".
  return old.state.terminated?.reason === unknownReason
    ? { state: old.state, restartCount: old.restartCount }
    : undefined;
}

/** The mounts as asked for. The runtime does not know volume names, so they come from the spec. */
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
  const wanted = mount.recursiveReadOnly === 'Enabled' || mount.recursiveReadOnly === 'IfPossible';
  const propagates = mount.mountPropagation !== undefined && mount.mountPropagation !== 'None';
  return wanted && supported && !propagates ? 'Enabled' : 'Disabled';
}
