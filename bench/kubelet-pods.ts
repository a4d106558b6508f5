// The same pods by way of the kubelet: from the rename of the manifest to the start of the container.
import type { Kubelet } from '../integration/rig/kubelet.ts';
import type { Rig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { benchPod, waitForStarts, wallMs } from './pods.ts';

interface KubeletPods {
  readonly startMs: readonly number[];
  /** CPU time of the kubelet from the manifests until now; asked a while after the last start, it has all the work. */
  cpuMs(): number;
  remove(): Promise<void>;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Takes the manifests away and waits until the runtime has none of the pods' containers running. */
async function removePods(rig: Rig, kubelet: Kubelet, names: readonly string[]): Promise<void> {
  for (const name of names) kubelet.removeManifest(name);
  const gone = async (): Promise<boolean> => {
    const pods = await kubelet.pods();
    const { items } = await rig.cri.listPodSandbox({ filter: { state: { state: 0 } } });
    return pods.length === 0 && items.length === 0;
  };
  await waitFor(gone, `${names.length} pods to go`, { timeoutMs: 120_000, everyMs: 100 });
}

export async function startKubeletPods(
  rig: Rig,
  kubelet: Kubelet,
  names: readonly string[],
): Promise<KubeletPods> {
  const cpuBefore = kubelet.usage().cpuSeconds;
  const manifests = names.map((name) => benchPod(name, rig.images.busybox));
  const beganMs = wallMs();
  names.forEach((name, i) => kubelet.writeManifest(name, manifests[i] ?? ''));
  const podNames = names.map((name) => `${name}-${kubelet.nodeName}`);
  const startMs = (await waitForStarts(rig, podNames)).map((ms) => ms - beganMs);
  return {
    startMs,
    cpuMs: () => (kubelet.usage().cpuSeconds - cpuBefore) * 1000,
    remove: () => removePods(rig, kubelet, names),
  };
}

/** Until /pods says Running. Asking costs the kubelet time, so these pods are measured for nothing else. */
export async function timeUntilReported(rig: Rig, kubelet: Kubelet, name: string): Promise<number> {
  const beganMs = wallMs();
  kubelet.writeManifest(name, benchPod(name, rig.images.busybox));
  await waitFor(async () => (await kubelet.pod(name))?.status?.phase === 'Running', `${name} to be Running`, {
    everyMs: 5,
  });
  const ms = wallMs() - beganMs;
  await removePods(rig, kubelet, [name]);
  return ms;
}

/** The kubelet's share of one core over the given time. */
export async function idleShare(kubelet: Kubelet, ms: number): Promise<number> {
  const before = kubelet.usage().cpuSeconds;
  const beganMs = performance.now();
  await sleep(ms);
  return (kubelet.usage().cpuSeconds - before) / ((performance.now() - beganMs) / 1000);
}
