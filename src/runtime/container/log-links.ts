// The symbolic links that log collectors watch: /var/log/containers/<pod>_<namespace>_<container>-<id>.log.
// Upstream: startContainer in kuberuntime_container.go and kuberuntime_gc.go. Invariants: a failed link is logged and never fails
// the container; a link is removed before its container.
import type { Pod } from '../../api/k8s/types.ts';
import { podRef } from '../../api/pod/pod-ref.ts';
import { isAbort } from '../../base/errors.ts';
import { containerLogPath, logLinkPath, type PodName, podLogDirectory } from '../paths.ts';
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
