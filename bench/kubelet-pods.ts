// Starts the measured pods through the kubelet: from the rename of the manifest to the start of the container.
import type { Kubelet } from '../integration/rig/kubelet.ts';
import type { Rig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { benchPod, waitForStarts, wallMs } from './pods.ts';

interface KubeletPods {
  readonly startMs: readonly number[];
  /** CPU time of the kubelet since the manifests were written. Read it some time after the last start to include all work. */
  cpuMs(): number;
  remove(): Promise<void>;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Removes the manifests and waits until the kubelet has no pod and the runtime no ready sandbox. */
async function removePods(rig: Rig, kubelet: Kubelet, names: readonly string[]): Promise<void> {
  for (const name of names) kubelet.removeManifest(name);
  const gone = async (): Promise<boolean> => {
    const pods = await kubelet.pods();
    const { items } = await rig.cri.listPodSandbox({ filter: { state: { state: 0 } } });
    return pods.length === 0 && items.length === 0;
  };
  await waitFor(gone, `${names.length} pods to be removed`, { timeoutMs: 120_000, everyMs: 100 });
}

export async function startKubeletPods(
  rig: Rig,
  kubelet: Kubelet,
  names: readonly string[],
): Promise<KubeletPods> {
  const cpuBefore = kubelet.usage().cpuSeconds;
  const manifests = names.map((name) => benchPod(name, rig.images.busybox));
  const startedMs = wallMs();
  names.forEach((name, i) => kubelet.writeManifest(name, manifests[i] ?? ''));
  const podNames = names.map((name) => `${name}-${kubelet.nodeName}`);
  const startMs = (await waitForStarts(rig, podNames)).map((ms) => ms - startedMs);
  return {
    startMs,
    cpuMs: () => (kubelet.usage().cpuSeconds - cpuBefore) * 1000,
    remove: () => removePods(rig, kubelet, names),
  };
}

/** Time until /pods reports Running. Polling costs the kubelet time, so these pods are used for nothing else. */
export async function timeUntilReported(rig: Rig, kubelet: Kubelet, name: string): Promise<number> {
  const startedMs = wallMs();
  kubelet.writeManifest(name, benchPod(name, rig.images.busybox));
  await waitFor(async () => (await kubelet.pod(name))?.status?.phase === 'Running', `${name} to be Running`, {
    everyMs: 5,
  });
  const ms = wallMs() - startedMs;
  await removePods(rig, kubelet, [name]);
  return ms;
}

/** The kubelet's CPU usage over the given time, as a share of one core. */
export async function idleShare(kubelet: Kubelet, ms: number): Promise<number> {
  const before = kubelet.usage().cpuSeconds;
  const startedMs = performance.now();
  await sleep(ms);
  return (kubelet.usage().cpuSeconds - before) / ((performance.now() - startedMs) / 1000);
}
