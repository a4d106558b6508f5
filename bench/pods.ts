// The measured pod, and the start time of its container as the runtime reports it.
import type { Rig } from '../integration/rig/rig.ts';
import { waitFor } from '../integration/rig/wait.ts';
import { criLabels } from '../src/api/cri/labels.ts';
import type { Pod } from '../src/api/k8s/types.ts';

/** Exits at once on SIGTERM, so that the next measurement need not wait for this pod. */
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

/** Wall clock in milliseconds with a fraction, comparable with the runtime's nanoseconds. */
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
 * The start times of these pods' containers. Polls slowly, so as not to disturb the measurement: the result is the
 * runtime's own timestamp, however late it is read.
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
