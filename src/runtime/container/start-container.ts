// Starts one container: image, config, create, start, postStart hook. Upstream: startContainer in kuberuntime_container.go.
// Invariant: every failure ends as a waiting reason on that container, never as the failure of its siblings.
import { seenAnnotation } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Container } from '../../api/k8s/types.ts';
import { containerType, findContainer } from '../../api/pod/find-container.ts';
import { latestContainer } from '../../api/pod/observed.ts';
import { asContainerId, type ContainerId, podRef, podUid } from '../../api/pod/pod-ref.ts';
import { containerFieldPath } from '../../api/ports/events.ts';
import { describeError, isAbort, isKind, KubeletError } from '../../base/errors.ts';
import type { ContainerRecords, PodInputs, RuntimeReports } from '../runtime-deps.ts';
import { lettingFinish } from '../stop/letting-finish.ts';
import type { SyncContext } from '../sync-context.ts';
import { withReason } from '../with-reason.ts';
import { type CreateDeps, createContainer, type MadeContainer } from './create-container.ts';
import { linkLog } from './log-links.ts';
import { type PostStartDeps, runPostStart } from './post-start.ts';
import { podFormat } from './security-context.ts';

interface StartOptions {
  /** A container that exists already and only has to be started. */
  readonly created?: ContainerId;
  /** A container that never ran: its name has to be freed first. */
  readonly replaces?: ContainerId | undefined;
}

interface StartDeps extends CreateDeps, PostStartDeps {
  readonly cri: CreateDeps['cri'] & PostStartDeps['cri'] & Pick<CriRuntime, 'startContainer'>;
  readonly node: CreateDeps['node'];
  readonly inputs: PodInputs;
  readonly records: ContainerRecords;
  readonly report: RuntimeReports;
}

/** Reasons that are about the image: the event names the reason, the status the whole story. */
const imageReasons: ReadonlySet<string> = new Set([
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

export async function startContainer(
  deps: StartDeps,
  context: SyncContext,
  name: string,
  options: StartOptions,
): Promise<void> {
  const { pod, seen } = context;
  const container = findContainer(pod, name);
  if (container === undefined) return;
  const wait = deps.records.crashBackoff.take(pod, container, seen);
  if (wait !== undefined) {
    const untilMs = deps.clock.now() + wait.retryInMs;
    context.waiting[name] = { reason: 'CrashLoopBackOff', message: wait.message, untilMs };
    const message = `Back-off restarting failed container ${name} in pod ${podFormat(pod)}`;
    const event = { type: 'Warning', reason: 'BackOff', message } as const;
    deps.report.events.pod(pod, event, containerFieldPath(pod, name));
    context.retries.push(wait.retryInMs);
    return;
  }
  const kind = containerType(pod, name);
  deps.report.starts?.container(kind);
  try {
    await createAndStart(deps, context, container, options);
  } catch (err) {
    // A runtime that went away is the pod's trouble, not this container's.
    if (isAbort(err) || context.signal.aborted) throw err;
    deps.report.starts?.containerFailed(kind, reasonOf(err));
    tellFailure(deps, context, container, err);
  }
}

// differs from upstream: there a kubelet that restarts in the middle of a hook never runs it again.
/** Completes the start of a running container: its hook was cut off with the kubelet, or failed and the kill failed, too. */
export async function finishStart(
  deps: StartDeps,
  context: SyncContext,
  name: string,
  id: ContainerId,
): Promise<void> {
  const { pod } = context;
  const container = findContainer(pod, name);
  if (container === undefined) return;
  deps.report.log.info('Running the postStart hook again: it had not finished', {
    pod: podRef(pod),
    container: name,
    containerID: id,
  });
  try {
    await runPostStart(deps, context, container, id);
  } catch (err) {
    if (isAbort(err) || context.signal.aborted) throw err;
    context.acted = true;
    deps.report.starts?.containerFailed(containerType(pod, name), reasonOf(err));
    tellFailure(deps, context, container, err);
  }
}

function reasonOf(err: unknown): string {
  return err instanceof KubeletError ? err.reason : 'RunContainerError';
}

function tellFailure(deps: StartDeps, context: SyncContext, container: Container, err: unknown): void {
  const { pod } = context;
  const { name } = container;
  const reason = reasonOf(err);
  const message = describeError(err);
  context.waiting[name] = { reason, message };
  const ofImage = imageReasons.has(reason);
  // What a hook that failed has said may be secret: its own event says only that it failed, and so does the log.
  const ofHook = reason === 'PostStartHookError';
  if (!ofHook) {
    const told = `Error: ${ofImage ? reason : withoutId(message, err, name)}`;
    const event = { type: 'Warning', reason: 'Failed', message: told } as const;
    deps.report.events.pod(pod, event, containerFieldPath(pod, name));
  }
  const imageRetryMs = deps.inputs.images.retryInMs(pod, container);
  if (ofImage && imageRetryMs !== undefined) context.retries.push(imageRetryMs);
  else context.failure ??= ofHook ? hookFailure(name) : err;
  const byRuntime = reason === 'CreateContainerError' || reason === 'RunContainerError';
  if (byRuntime && isKind(err, 'unavailable')) throw err;
}

function hookFailure(name: string): KubeletError {
  return new KubeletError('internal', 'PostStartHookError', `the postStart hook of container ${name} failed`);
}

/** An event that names the container's ID would be another one each time. */
function withoutId(message: string, err: unknown, name: string): string {
  const id = err instanceof KubeletError ? err.details['containerId'] : undefined;
  return typeof id === 'string' && id !== '' ? message.replaceAll(id, name) : message;
}

async function createAndStart(
  deps: StartDeps,
  context: SyncContext,
  container: Container,
  options: StartOptions,
): Promise<void> {
  const { clock, cri } = deps;
  const { pod, signal } = context;
  const tell = (reason: string, message: string): void =>
    deps.report.events.pod(pod, { type: 'Normal', reason, message }, containerFieldPath(pod, container.name));
  let made: MadeContainer;
  try {
    made =
      options.created === undefined
        ? await createContainer(deps, context, container, options.replaces)
        : await existing(context, container, options.created);
    const { id } = made;
    if (options.created === undefined) tell('Created', `Created container: ${container.name}`);
    await withReason('CreateContainerConfigError', async () => {
      const hook = container.lifecycle?.postStart;
      const uid = podUid(pod);
      await Promise.all([
        deps.records.resizes?.saved(),
        hook === undefined ? undefined : deps.records.unfinishedHooks.begin(uid, asContainerId(id)),
      ]);
    });
    const start = (late: AbortSignal): Promise<unknown> =>
      cri.startContainer({ containerId: id }, { signal: late });
    await withReason('RunContainerError', () => lettingFinish(deps, signal, start), { containerId: id });
  } finally {
    context.startSlot.stepDone();
  }
  const { id, restartCount } = made;
  tell('Started', `Started container ${container.name}`);
  logStarted(deps, context, container, id, restartCount, clock.now());
  await linkLog(deps, pod, { name: container.name, id, restartCount });
  await runPostStart(deps, context, container, id);
}

async function existing(context: SyncContext, container: Container, id: ContainerId): Promise<MadeContainer> {
  await context.startSlot.take();
  context.acted = true;
  const restartCount = latestContainer(context.seen, container.name)?.restartCount ?? 0;
  return { id, restartCount };
}

function logStarted(
  deps: StartDeps,
  context: SyncContext,
  container: Container,
  id: string,
  restartCount: number,
  nowMs: number,
): void {
  const seenAt = context.pod.metadata?.annotations?.[seenAnnotation];
  const sinceSeenMs = seenAt === undefined ? undefined : Math.round(nowMs - Date.parse(seenAt));
  deps.report.log.info('Container started', {
    pod: podRef(context.pod),
    container: container.name,
    containerID: id,
    restartCount,
    ...(restartCount === 0 && sinceSeenMs !== undefined ? { sinceSeenMs } : {}),
  });
}
