// Brings a status into the canonical form in which it is stored, compared and sent. Pure.
// Upstream: normalizeStatus in pkg/kubelet/status/status_manager.go.
import type { ContainerState, ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/k8s/types.ts';
import { inOrder } from '../api-fields.ts';

/** For all containers of a pod together. */
const terminationMessageBytes = 12 * 1024;

const statusOrder: readonly (keyof PodStatus)[] = [
  'observedGeneration',
  'phase',
  'conditions',
  'message',
  'reason',
  'nominatedNodeName',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'qosClass',
  'ephemeralContainerStatuses',
  'resize',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'allocatedResources',
  'resources',
  'nodeAllocatableResourceClaimStatuses',
  'volumeHealth',
];

/** Fields that the kubelet neither owns nor changes; volumeHealth without its gate. */
export const keptFields: readonly (keyof PodStatus)[] = [
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
  'volumeHealth',
];

export function isGenerated(field: string): boolean {
  const name = field as keyof PodStatus;
  return statusOrder.includes(name) && !keptFields.includes(name);
}

const containerOrder: readonly (keyof ContainerStatus)[] = [
  'name',
  'state',
  'lastState',
  'ready',
  'restartCount',
  'image',
  'imageID',
  'containerID',
  'started',
  'allocatedResources',
  'resources',
  'volumeMounts',
  'user',
  'allocatedResourcesStatus',
  'stopSignal',
];

const conditionOrder: readonly (keyof PodCondition)[] = [
  'type',
  'observedGeneration',
  'status',
  'lastProbeTime',
  'lastTransitionTime',
  'reason',
  'message',
];

export function normalizeStatus(pod: Pod, status: PodStatus): PodStatus {
  const spec = pod.spec;
  const count =
    (spec?.containers.length ?? 0) +
    (spec?.initContainers?.length ?? 0) +
    (spec?.ephemeralContainers?.length ?? 0);
  const bytesEach = count === 0 ? terminationMessageBytes : Math.floor(terminationMessageBytes / count);
  const containers = (statuses: ContainerStatus[]): ContainerStatus[] =>
    statuses.map((each) => normalizeContainer(each, bytesEach));
  const { conditions, initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
  return inOrder(
    {
      ...status,
      ...(conditions && { conditions: conditions.map((each) => inOrder(each, conditionOrder)) }),
      ...(initContainerStatuses && { initContainerStatuses: containers(initContainerStatuses) }),
      ...(containerStatuses && { containerStatuses: containers(containerStatuses) }),
      ...(ephemeralContainerStatuses && {
        ephemeralContainerStatuses: containers(ephemeralContainerStatuses),
      }),
    },
    statusOrder,
  );
}

function normalizeContainer(status: ContainerStatus, bytes: number): ContainerStatus {
  const shortened: ContainerStatus = {
    ...status,
    state: shortenState(status.state, bytes),
    lastState: shortenState(status.lastState, bytes),
  };
  return inOrder(shortened, containerOrder);
}

function shortenState(state: ContainerState | undefined, bytes: number): ContainerState {
  const message = state?.terminated?.message;
  // A UTF-16 unit takes at most three bytes in UTF-8, so short messages need no encoding.
  if (state?.terminated === undefined || message === undefined || message.length * 3 <= bytes)
    return state ?? {};
  return { terminated: { ...state.terminated, message: cutBytes(message, bytes) } };
}

/** Truncates to at most `bytes` bytes of UTF-8 at a character boundary. */
function cutBytes(text: string, bytes: number): string {
  const buffer = new Uint8Array(bytes);
  const { read } = new TextEncoder().encodeInto(text, buffer);
  return text.slice(0, read);
}
