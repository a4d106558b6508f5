// Waits for pod states in the kubelet's /pods; the timeout error has the last state.
import type { ContainerStatus, Pod, PodStatus } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';

const timeoutMs = 40_000;

/** Waits until /pods shows the pod of this manifest in the given state. */
export async function untilPod(
  kubelet: Kubelet,
  name: string,
  what: string,
  is: (status: PodStatus, pod: Pod) => boolean,
): Promise<Pod> {
  return waitFor(
    async () => {
      const pod = await kubelet.pod(name);
      if (pod !== undefined && is(pod.status ?? {}, pod)) return pod;
      throw new Error(pod === undefined ? 'no such pod' : JSON.stringify(pod.status));
    },
    `pod ${name}: ${what}`,
    timeoutMs,
  );
}

/** Waits until the pod is Running with all containers ready. */
export async function untilRunning(kubelet: Kubelet, name: string): Promise<Pod> {
  return untilPod(kubelet, name, 'running and ready', (status, pod) => {
    const statuses = status.containerStatuses ?? [];
    return (
      status.phase === 'Running' &&
      statuses.length === pod.spec?.containers.length &&
      statuses.every(({ ready }) => ready) &&
      status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
    );
  });
}

/** Waits until /pods shows this container in the given state. */
export async function untilContainer(
  kubelet: Kubelet,
  name: string,
  what: string,
  is: (status: ContainerStatus) => boolean,
  container = 'main',
): Promise<Pod> {
  return untilPod(kubelet, name, `container ${container} ${what}`, (_status, pod) =>
    is(containerStatus(pod, container)),
  );
}

/** Waits until the container is ready after its n-th restart. */
export async function untilRestarted(kubelet: Kubelet, name: string, count: number): Promise<Pod> {
  return untilContainer(
    kubelet,
    name,
    `ready after restart ${count}`,
    ({ ready, restartCount }) => ready && restartCount === count,
  );
}

export async function untilNoPod(kubelet: Kubelet, name: string): Promise<void> {
  await waitFor(
    async () => (await kubelet.pod(name)) === undefined,
    `pod ${name} to be gone from /pods`,
    timeoutMs,
  );
}

export function containerStatus(pod: Pod, name = 'main'): ContainerStatus {
  const status = pod.status?.containerStatuses?.find((each) => each.name === name);
  if (status === undefined) throw new Error(`pod ${pod.metadata?.name} has no status of container ${name}`);
  return status;
}

export function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? '';
}

/** The ID in the runtime, without the containerd:// prefix. */
export function containerIdOf(pod: Pod, name = 'main'): string {
  const id = containerStatus(pod, name).containerID ?? '';
  if (!id.startsWith('containerd://')) throw new Error(`container ${name} has no containerd ID: "${id}"`);
  return id.slice('containerd://'.length);
}
