// Runs a container's postStart hook. A container whose hook fails is killed, and its restart policy applies.
// Upstream: step 4 of startContainer in kuberuntime_container.go. Invariant: only a successful hook removes its record; the record
// of a failed one stays until the container was observed as exited, so that it is not reported as running before.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Container } from '../../api/k8s/types.ts';
import type { ObservedContainer } from '../../api/pod/observed.ts';
import { asContainerId, asSandboxId, podRef, podUid } from '../../api/pod/pod-ref.ts';
import { containerFieldPath } from '../../api/ports/events.ts';
import { describeError, isAbort, KubeletError } from '../../base/errors.ts';
import type { ContainerRecords, RuntimeNode, RuntimeReports } from '../runtime-deps.ts';
import { podAddresses } from '../sandbox/pod-addresses.ts';
import type { StopDeps } from '../stop/stop-container.ts';
import { stopContainers } from '../stop/stop-pod.ts';
import type { SyncContext } from '../sync-context.ts';
import { runHook } from './hooks.ts';

export interface PostStartDeps extends StopDeps {
  readonly cri: StopDeps['cri'] & Pick<CriRuntime, 'podSandboxStatus'>;
  readonly node: Pick<RuntimeNode, 'settings'>;
  readonly records: Pick<ContainerRecords, 'unfinishedHooks'>;
  readonly report: StopDeps['report'] & Pick<RuntimeReports, 'stages'>;
}

export async function runPostStart(
  deps: PostStartDeps,
  context: SyncContext,
  container: Container,
  containerId: string,
): Promise<void> {
  const id = asContainerId(containerId);
  const handler = container.lifecycle?.postStart;
  if (handler === undefined) {
    await deps.records.unfinishedHooks.finish(id);
    return;
  }
  const { pod, signal } = context;
  const [podIp] = await podAddresses(deps, context);
  const stage = deps.report.stages?.begin(podUid(pod), 'postStart', container.name);
  try {
    const when = 'postStart';
    await runHook(deps, { pod, container, containerId, handler, podIp, when }, signal);
    stage?.end();
  } catch (err) {
    // The hook's output may be secret.
    stage?.end('the hook failed');
    if (isAbort(err) || signal.aborted) throw err;
    // The hook's output may be secret: the event reports only that the hook failed.
    const event = {
      type: 'Warning',
      reason: 'FailedPostStartHook',
      message: 'PostStartHook failed',
    } as const;
    deps.report.events.pod(pod, event, containerFieldPath(pod, container.name));
    await kill(deps, context, container, containerId, podIp);
    throw new KubeletError('internal', 'PostStartHookError', describeError(err), { cause: err });
  }
  await deps.records.unfinishedHooks.finish(id);
}

async function kill(
  deps: PostStartDeps,
  { pod, sandbox, signal }: SyncContext,
  { name }: Container,
  containerId: string,
  podIp: string | undefined,
): Promise<void> {
  const why = 'FailedPostStartHook';
  try {
    const options = { pod, graceSeconds: undefined, why, message: why, podIp, signal };
    await stopContainers(deps, [startedContainer(name, containerId, sandbox?.id ?? '')], options);
  } catch (err) {
    if (isAbort(err) || signal.aborted) throw err;
    deps.report.log.error('Failed to kill container after its postStart hook failed', {
      pod: podRef(pod),
      container: name,
      containerID: containerId,
      err,
    });
  }
}

/** A container that was just started and not inspected yet. */
function startedContainer(name: string, id: string, sandboxId: string): ObservedContainer {
  return {
    id: asContainerId(id),
    name,
    sandboxId: asSandboxId(sandboxId),
    state: 'running',
    createdAtMs: 0,
    startedAtMs: 0,
    finishedAtMs: 0,
    exitCode: 0,
    reason: '',
    message: '',
    image: '',
    imageRef: '',
    imageId: '',
    hash: '',
    restartCount: 0,
    attempt: 0,
    logPath: '',
    terminationGraceSeconds: undefined,
    deletionGraceSeconds: undefined,
  };
}
