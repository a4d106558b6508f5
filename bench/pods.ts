// The pod that is measured, and when its container began to run, as the runtime tells it.
import type { Rig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { criLabels } from '../src/api/cri/labels.ts';
import type { Pod } from '../src/api/k8s/types.ts';

/** One container that ends at once when asked to, so that measuring the next pod need not wait for this one. */
const script = "trap 'exit 0' TERM; while :; do sleep 2147483647 & wait $!; done";

export function benchPod(name: string, image: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script] }],
    },
  };
}

/** Wall clock in milliseconds with a fraction, to be set against the runtime's nanoseconds. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

export async function startedAtMs(rig: Rig, containerId: string): Promise<number> {
  const { status } = await rig.cri.containerStatus({ containerId });
  const startedAt = status?.startedAt ?? 0n;
  if (startedAt === 0n) throw new Error(`container ${containerId} has not started`);
  return Number(startedAt / 1000n) / 1000;
}

/**
 * When the containers of these pods began to run. It asks seldom, so as not to take time from what is measured:
 * the answer is the runtime's own time stamp, however late it is read.
 */
export async function waitForStarts(rig: Rig, podNames: readonly string[]): Promise<readonly number[]> {
  const wanted = new Set(podNames);
  const ids = await waitFor(
    async () => {
      const { containers } = await rig.cri.listContainers({ filter: { state: { state: 1 } } });
      const found = containers.filter((one) => wanted.has(one.labels[criLabels.podName] ?? ''));
      return found.length === wanted.size ? found.map((one) => one.id) : undefined;
    },
    `${podNames.length} pods to run`,
    { timeoutMs: 120_000, everyMs: 250 },
  );
  return Promise.all(ids.map((id) => startedAtMs(rig, id)));
}
