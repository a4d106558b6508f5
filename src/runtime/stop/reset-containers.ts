// Kills and removes all init and regular containers of a pod whose rule restarts all of them. Sandbox, volumes and their logs
// stay, so that the next sync starts the containers again with the next restart count.
// Invariant: a stage begins after the one before it was removed; the last one is the trigger.
// Upstream: the ContainersToReset of SyncPod in kuberuntime_manager.go.
import { type ObservedContainer, readySandbox } from '../../api/pod/observed.ts';
import { podRef } from '../../api/pod/pod-ref.ts';
import { unlinkLogs } from '../container/log-links.ts';
import type { ResetContainers } from '../decide/pod-action.ts';
import type { PodRuntimeDeps } from '../runtime-deps.ts';
import type { SyncContext } from '../sync-context.ts';
import { removeContainers, removeLogs } from './garbage.ts';
import { stopContainers } from './stop-pod.ts';

const why = 'an exit restarts all containers of the pod';

export async function resetContainers(
  deps: PodRuntimeDeps,
  context: SyncContext,
  { stages }: ResetContainers,
): Promise<void> {
  const { pod, seen, signal } = context;
  if (seen === undefined) return;
  context.acted = true;
  deps.report.log.info('Restarting all containers of pod', { pod: podRef(pod) });
  const podIp = readySandbox(seen)?.ips[0];
  for (const stage of stages) {
    const containers = stage.flatMap((id) => seen.containers.filter((each) => each.id === id));
    const alive = containers.filter(({ state }) => state !== 'exited');
    // differs from upstream: the containers of a stage are killed at once, not one after the other.
    await stopContainers(deps, alive, { pod, graceSeconds: 0, why, message: 'killing', podIp, signal });
    await unlinkLogs(deps.node, seen, containers);
    await removeEarlierLogs(deps.node, containers);
    for (const container of containers) await removeContainers(deps, [container], signal);
  }
}

/**
 * Removes the logs of earlier restarts.
 * differs from upstream: those are kept until the pod is deleted, so that a pod that restarts often fills the disk.
 */
async function removeEarlierLogs(
  node: PodRuntimeDeps['node'],
  containers: readonly ObservedContainer[],
): Promise<void> {
  for (const { logPath, restartCount } of containers) {
    const at = logPath.lastIndexOf('/') + 1;
    const names = at === 0 ? [] : await node.files.listNames(logPath.slice(0, at - 1));
    const earlier = names.filter((name) => Number(name.split('.', 1)[0]) < restartCount);
    await removeLogs(
      node,
      earlier.map((name) => ({ logPath: logPath.slice(0, at) + name })),
    );
  }
}
