// Pods in the runtime, queried without the kubelet, so that nothing is missed that the kubelet overlooks.
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
 * All sandboxes and containers of the pod of this manifest by name, with any UID and in any state; sorted, since the
 * runtime guarantees no order.
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
  is: (found: RuntimePod) => boolean,
): Promise<RuntimePod> {
  return waitFor(
    async () => {
      const found = await clearLost(rig, await runtimePod(rig, kubelet, name));
      if (is(found)) return found;
      throw new Error(JSON.stringify(found));
    },
    `pod ${name} on the runtime: ${what}`,
    40_000,
  );
}

/**
 * Removes containers whose task containerd has lost because their start was interrupted at a certain moment: it reports
 * them as exited and cannot remove them until it restarts. Other containers that exited without having run are left to
 * the kubelet.
 */
async function clearLost(rig: Rig, found: RuntimePod): Promise<RuntimePod> {
  const ended = found.containers.filter(({ state }) => state === 'exited');
  if (ended.length === 0) return found;
  const tasks = await rig.ctr('tasks', 'ls', '--quiet');
  const lost = new Set<string>();
  for (const { id } of ended.filter((each) => tasks.includes(each.id))) {
    const { status } = await rig.cri.containerStatus({ containerId: id });
    if (status?.reason !== 'StartError') continue;
    await rig.removeLostTask(id);
    await rig.cri.removeContainer({ containerId: id });
    lost.add(id);
  }
  return { ...found, containers: found.containers.filter(({ id }) => !lost.has(id)) };
}

/** Kills the process of a container or sandbox without the CRI. */
export async function killTask(rig: Rig, id: string): Promise<void> {
  await rig.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);
}

/** Polls which UIDs of this name have a running container; stop() returns all observed sets. */
export async function watchRunningUids(
  rig: Rig,
  kubelet: Kubelet,
  name: string,
): Promise<{ stop(): Promise<readonly string[]> }> {
  const seen = new Set<string>();
  const stop = new AbortController();
  const look = async (): Promise<void> => {
    const { containers } = await runtimePod(rig, kubelet, name);
    const uids = new Set(containers.filter(({ state }) => state === 'running').map(({ uid }) => uid));
    seen.add([...uids].sort().join('+'));
  };
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await sleep(10);
      await look();
    }
  };
  // What runs now is seen in any case, however slow the machine is.
  await look();
  const ended = loop();
  return {
    async stop() {
      stop.abort();
      await ended;
      return [...seen];
    },
  };
}
