// Waiting for what the kubelet says of a pod, with the last word of the kubelet in the error when it does not come.
import type { ContainerStatus, Pod, PodStatus } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';

const timeoutMs = 40_000;

/** The pod of this manifest, as soon as /pods shows it in the wanted state. */
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
      throw new Error(pod === undefined ? 'there is no such pod' : JSON.stringify(pod.status));
    },
    `pod ${name}: ${what}`,
    timeoutMs,
  );
}

/** Running with every container ready. */
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

/** As soon as /pods shows this container in the wanted state. */
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

/** Up again after its n-th restart. */
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
    `pod ${name} to leave the list`,
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

/** As the runtime calls it, without the runtime's name in front. */
export function containerIdOf(pod: Pod, name = 'main'): string {
  const id = containerStatus(pod, name).containerID ?? '';
  if (!id.startsWith('containerd://'))
    throw new Error(`container ${name} has no ID of containerd but "${id}"`);
  return id.slice('containerd://'.length);
}
