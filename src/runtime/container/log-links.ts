// The symbolic links that log collectors watch: /var/log/containers/<pod>_<namespace>_<container>-<id>.log.
// Upstream: startContainer in kuberuntime_container.go and evictPodLogsDirectories in kuberuntime_gc.go. Invariants: a failed link
// is logged and never fails the container; a link is removed before its container.
import { ContainerState } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { podRef } from '../../api/pod/pod-ref.ts';
import { isAbort, isKind } from '../../base/errors.ts';
import { containerLogPath, linkSuffix, logLinkPath, type PodName, podLogDirectory } from '../paths.ts';
import type { RuntimeNode, RuntimeReports } from '../runtime-deps.ts';

type LinkNode = Pick<RuntimeNode, 'files' | 'settings'>;

interface LinkDeps {
  readonly node: LinkNode;
  readonly report: Pick<RuntimeReports, 'log'>;
}

export async function linkLog(
  { node: { files, settings }, report: { log } }: LinkDeps,
  pod: Pod,
  container: { readonly name: string; readonly id: string; readonly restartCount: number },
): Promise<void> {
  const { containerLogsDir, podLogsDir } = settings;
  const { name = '', namespace = '' } = pod.metadata ?? {};
  const target = `${podLogDirectory(podLogsDir, pod)}/${containerLogPath(container.name, container.restartCount)}`;
  try {
    // A runtime may keep its logs in another place: no dangling links.
    if (!(await files.exists(target))) return;
    const path = logLinkPath(containerLogsDir, { name, namespace }, container.name, container.id);
    await files.link(target, path);
  } catch (err) {
    if (isAbort(err)) throw err;
    log.warn('Failed to link container log', { pod: podRef(pod), container: container.name, err });
  }
}

/** Called before the containers are removed: afterwards their IDs are lost. */
export async function unlinkLogs(
  { files, settings }: LinkNode,
  pod: PodName,
  containers: readonly { readonly name: string; readonly id: string }[],
): Promise<void> {
  const { containerLogsDir } = settings;
  await Promise.all(
    containers.map(({ name, id }) => files.removeFile(logLinkPath(containerLogsDir, pod, name, id))),
  );
}

/** Limit on the links checked in one pass; the rest is found once these are removed. */
const mostLinks = 100_000;

/** Shorter text is no unique prefix of an ID. */
const shortestId = 6;

interface DeadLinkDeps extends LinkDeps {
  readonly cri: Pick<CriRuntime, 'containerStatus'>;
}

/** Removes the links whose log no longer exists, unless the container may still write to it. */
export async function removeDeadLinks(deps: DeadLinkDeps, signal: AbortSignal): Promise<void> {
  const { node, report } = deps;
  const { containerLogsDir } = node.settings;
  const names = await node.files.listNames(containerLogsDir, mostLinks);
  for (const name of names.filter((each) => each.endsWith(linkSuffix))) {
    signal.throwIfAborted();
    const path = `${containerLogsDir}/${name}`;
    try {
      if (!(await node.files.isDanglingLink(path)) || (await mayWrite(deps, name, signal))) continue;
      await node.files.removeFile(path);
      report.log.v(4).info('Removed a link to a missing container log', { path });
    } catch (err) {
      if (isAbort(err)) throw err;
      report.log.error('Failed to remove a link to a missing container log', { path, err });
    }
  }
}

/**
 * Whether the link's container has not exited: during the rotation of its log, the link has no target for a moment.
 * differs from upstream: while the runtime does not answer, the link stays.
 */
async function mayWrite({ cri }: DeadLinkDeps, name: string, signal: AbortSignal): Promise<boolean> {
  const containerId = name.slice(name.lastIndexOf('-') + 1, -linkSuffix.length);
  if (containerId.length < shortestId) return false;
  try {
    const { status } = await cri.containerStatus({ containerId }, { signal });
    return status?.state !== ContainerState.CONTAINER_EXITED;
  } catch (err) {
    if (isAbort(err) || isKind(err, 'unavailable') || isKind(err, 'timeout')) throw err;
    return false;
  }
}
