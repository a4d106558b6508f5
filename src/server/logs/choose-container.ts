// Which of a pod's containers a request for logs means: the one that runs, the last one that ran, or the one before.
// Upstream: validateContainerLogStatus in pkg/kubelet/kubelet_pods.go and GetContainerSpec in pkg/kubelet/container.
import type { ContainerState, ContainerStatus, PodStatus } from '../../api/k8s/types.ts';

type ChosenContainer = { readonly id: string } | { readonly why: string };

/** `id` is as the status has it: containerd://… */
export function chooseContainer(
  pod: string,
  status: PodStatus,
  container: string,
  previous: boolean,
): ChosenContainer {
  const who = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
  const found = statusOf(status, container);
  if (found === undefined) return { why: `${who} is not available` };
  const { containerID = '', state = {} } = found;
  const last = found.lastState?.terminated?.containerID ?? '';
  if (previous) return last === '' ? { why: `previous terminated ${who} not found` } : { id: last };
  if (state.running !== undefined) return { id: containerID };
  if (state.terminated !== undefined) {
    // One that could not be started has no ID: then the one before it is what there is to read.
    const id = state.terminated.containerID || last;
    return id === '' ? { why: `${who} is terminated` } : { id };
  }
  if (found.lastState?.terminated !== undefined) {
    return last === '' ? { why: `${who} is terminated` } : { id: last };
  }
  return { why: `${who} is waiting to start${whatFor(state)}` };
}

function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], ephemeralContainerStatuses = [], initContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (each) => each.name === name,
  );
}

function whatFor({ waiting }: ContainerState): string {
  if (waiting === undefined) return ' - no logs yet';
  if (waiting.reason === 'ErrImagePull') return ": image can't be pulled";
  if (waiting.reason === 'ImagePullBackOff') return ': trying and failing to pull image';
  return `: ${waiting.reason ?? ''}`;
}
