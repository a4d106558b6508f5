// Selects the container of a log request: the running one, the last one that ran, or the previous one.
// Upstream: validateContainerLogStatus in pkg/kubelet/kubelet_pods.go and GetContainerSpec in pkg/kubelet/container.
import type { ContainerState, ContainerStatus, PodStatus } from '../../api/k8s/types.ts';

type ChosenContainer = { readonly id: string } | { readonly error: string };

/** `id` as in the status: containerd://… */
export function chooseContainer(
  pod: string,
  status: PodStatus,
  container: string,
  previous: boolean,
): ChosenContainer {
  const subject = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
  const found = statusOf(status, container);
  if (found === undefined) return { error: `${subject} is not available` };
  const { containerID = '', state = {} } = found;
  const last = found.lastState?.terminated?.containerID ?? '';
  if (previous) return last === '' ? { error: `previous terminated ${subject} not found` } : { id: last };
  if (state.running !== undefined) return { id: containerID };
  if (state.terminated !== undefined) {
    // A container that could not be started has no ID: its predecessor has the logs.
    const id = state.terminated.containerID || last;
    return id === '' ? { error: `${subject} is terminated` } : { id };
  }
  if (found.lastState?.terminated !== undefined) {
    return last === '' ? { error: `${subject} is terminated` } : { id: last };
  }
  return { error: `${subject} is waiting to start${waitingText(state)}` };
}

function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], ephemeralContainerStatuses = [], initContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (each) => each.name === name,
  );
}

function waitingText({ waiting }: ContainerState): string {
  if (waiting === undefined) return ' - no logs yet';
  if (waiting.reason === 'ErrImagePull') return ": image can't be pulled";
  if (waiting.reason === 'ImagePullBackOff') return ': trying and failing to pull image';
  return `: ${waiting.reason ?? ''}`;
}
