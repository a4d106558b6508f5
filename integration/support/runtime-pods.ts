// What the runtime itself holds of pods, asked past the kubelet: nothing is hidden here that the kubelet overlooks.
import { setTimeout as sleep } from 'node:timers/promises';
import { criAnnotations, criLabels } from '../../src/api/cri/labels.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import type { Rig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';

interface RuntimeSandbox {
  readonly id: string;
  readonly uid: string;
  readonly attempt: number;
  readonly ready: boolean;
}

interface RuntimeContainer {
  readonly id: string;
  readonly uid: string;
  readonly name: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly restartCount: number;
}

export interface RuntimePod {
  readonly sandboxes: readonly RuntimeSandbox[];
  readonly containers: readonly RuntimeContainer[];
}

const states: readonly RuntimeContainer['state'][] = ['created', 'running', 'exited', 'unknown'];

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Everything on the runtime that carries the name of this manifest's pod, whatever its UID and state; in an order of
 * our own, since the runtime promises none.
 */
export async function runtimePod(rig: Rig, kubelet: Kubelet, name: string): Promise<RuntimePod> {
  const labelSelector = { [criLabels.podName]: `${name}-${kubelet.nodeName}` };
  const [sandboxes, containers] = await Promise.all([
    rig.cri.listPodSandbox({ filter: { labelSelector } }),
    rig.cri.listContainers({ filter: { labelSelector } }),
  ]);
  return {
    sandboxes: sandboxes.items
      .map(({ id, metadata, state }) => ({
        id,
        uid: metadata?.uid ?? '',
        attempt: metadata?.attempt ?? -1,
        ready: state === 0,
      }))
      .sort((a, b) => a.attempt - b.attempt),
    containers: containers.containers
      .map((each) => ({
        id: each.id,
        uid: each.labels[criLabels.podUid] ?? '',
        name: each.labels[criLabels.containerName] ?? '',
        state: states[each.state] ?? 'unknown',
        restartCount: Number(each.annotations[criAnnotations.restartCount]),
      }))
      .sort((a, b) => compare(a.name, b.name) || a.restartCount - b.restartCount),
  };
}

export async function untilRuntimePod(
  rig: Rig,
  kubelet: Kubelet,
  name: string,
  what: string,
  is: (held: RuntimePod) => boolean,
): Promise<RuntimePod> {
  return waitFor(
    async () => {
      const held = await clearLost(rig, await runtimePod(rig, kubelet, name));
      if (is(held)) return held;
      throw new Error(JSON.stringify(held));
    },
    `pod ${name} on the runtime: ${what}`,
    40_000,
  );
}

/**
 * Clears what containerd has lost sight of, a start having been cut off at one certain moment: a container that it calls
 * ended and does not remove for as long as it lives, because there still is a task. Whatever else has ended without
 * having run is the kubelet's to clear, and stays.
 */
async function clearLost(rig: Rig, held: RuntimePod): Promise<RuntimePod> {
  const ended = held.containers.filter(({ state }) => state === 'exited');
  if (ended.length === 0) return held;
  const tasks = await rig.ctr('tasks', 'ls', '--quiet');
  const lost = new Set<string>();
  for (const { id } of ended.filter((each) => tasks.includes(each.id))) {
    const { status } = await rig.cri.containerStatus({ containerId: id });
    if (status?.reason !== 'StartError') continue;
    await rig.removeLostTask(id);
    await rig.cri.removeContainer({ containerId: id });
    lost.add(id);
  }
  return { ...held, containers: held.containers.filter(({ id }) => !lost.has(id)) };
}

/** Kills a container's or a sandbox's process behind the back of everyone. */
export async function killTask(rig: Rig, id: string): Promise<void> {
  await rig.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);
}

/** Looks again and again which UIDs of this name have a running container; stop() tells every set that was seen. */
export function watchRunningUids(
  rig: Rig,
  kubelet: Kubelet,
  name: string,
): { stop(): Promise<readonly string[]> } {
  const seen = new Set<string>();
  const stop = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { containers } = await runtimePod(rig, kubelet, name);
      const uids = new Set(containers.filter(({ state }) => state === 'running').map(({ uid }) => uid));
      seen.add([...uids].sort().join('+'));
      await sleep(10);
    }
  };
  const ended = loop();
  return {
    async stop() {
      stop.abort();
      await ended;
      return [...seen];
    },
  };
}
