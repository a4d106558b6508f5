// Starts one container: image, config, create, start, postStart hook. Upstream: startContainer in kuberuntime_container.go.
// Invariant: every failure becomes a waiting reason of its container and never fails the other containers.
import { seenAnnotation } from '../../api/cri/labels.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { containerType, findContainer } from '../../api/pod/find-container.ts';
import { latestContainer } from '../../api/pod/observed.ts';
import { asContainerId, type ContainerId, podRef, podUid } from '../../api/pod/pod-ref.ts';
import { containerFieldPath } from '../../api/ports/events.ts';
import { staged } from '../../api/ports/start-stages.ts';
import { describeError, isAbort, isKind, KubeletError } from '../../base/errors.ts';
import type { ContainerRecords, PodInputs, RuntimeReports } from '../runtime-deps.ts';
import { letCallFinish } from '../stop/let-call-finish.ts';
import type { SyncContext } from '../sync-context.ts';
import { withReason } from '../with-reason.ts';
import { type CreateDeps, type CreatedContainer, createContainer } from './create-container.ts';
import { mountedImages } from './image-volumes.ts';
import { linkLog } from './log-links.ts';
import { type PostStartDeps, runPostStart } from './post-start.ts';
import { podFormat } from './security-context.ts';

interface StartOptions {
  /** A container that is created already and only has to be started. */
  readonly created?: ContainerId;
  /** A container that never ran and has to be removed first. */
  readonly replaces?: ContainerId | undefined;
}

interface StartDeps extends CreateDeps, PostStartDeps {
  readonly cri: CreateDeps['cri'] & PostStartDeps['cri'] & Pick<CriRuntime, 'startContainer'>;
  readonly node: CreateDeps['node'];
  readonly inputs: PodInputs;
  readonly records: ContainerRecords;
  readonly report: RuntimeReports;
}

/** Image failures: the event has only the reason, the status the whole message. */
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
  const wait = deps.records.crashBackoff.waitBeforeStart(pod, container, seen);
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
    // An abort concerns the pod, not this container.
    if (isAbort(err) || context.signal.aborted) throw err;
    deps.report.starts?.containerFailed(kind, reasonOf(err));
    reportFailure(deps, context, container, err);
  }
}

// differs from upstream: there a kubelet that restarts during a hook never runs it again.
/** Completes the start of a running container whose hook was interrupted with the kubelet, or failed and could not be killed. */
export async function finishStart(
  deps: StartDeps,
  context: SyncContext,
  name: string,
  id: ContainerId,
): Promise<void> {
  const { pod } = context;
  const container = findContainer(pod, name);
  if (container === undefined) return;
  deps.report.log.info('Running unfinished postStart hook again', {
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
    reportFailure(deps, context, container, err);
  }
}

function reasonOf(err: unknown): string {
  return err instanceof KubeletError ? err.reason : 'RunContainerError';
}

function reportFailure(deps: StartDeps, context: SyncContext, container: Container, err: unknown): void {
  const { pod } = context;
  const { name } = container;
  const reason = reasonOf(err);
  const message = describeError(err);
  context.waiting[name] = { reason, message };
  const isImageFailure = imageReasons.has(reason);
  // The output of a failed hook may be secret: its event and the log say only that it failed.
  const isHookFailure = reason === 'PostStartHookError';
  if (!isHookFailure) {
    const text = `Error: ${isImageFailure ? reason : withoutId(message, err, name)}`;
    const event = { type: 'Warning', reason: 'Failed', message: text } as const;
    deps.report.events.pod(pod, event, containerFieldPath(pod, name));
  }
  const imageRetryMs = isImageFailure ? pullRetryInMs(deps, pod, container) : undefined;
  if (imageRetryMs !== undefined) context.retries.push(imageRetryMs);
  else context.failure ??= isHookFailure ? hookFailure(name) : err;
  const isRuntimeFailure = reason === 'CreateContainerError' || reason === 'RunContainerError';
  if (isRuntimeFailure && isKind(err, 'unavailable')) throw err;
}

/** The shortest backoff of the container's image and of the images that it mounts. */
function pullRetryInMs({ inputs }: StartDeps, pod: Pod, container: Container): number | undefined {
  const delays = [container, ...mountedImages(pod, container)].flatMap(
    (each) => inputs.images.retryInMs(pod, each) ?? [],
  );
  return delays.length === 0 ? undefined : Math.min(...delays);
}

function hookFailure(name: string): KubeletError {
  return new KubeletError('internal', 'PostStartHookError', `the postStart hook of container ${name} failed`);
}

/** Without the container ID: an event with it would never be deduplicated. */
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
  const emit = (reason: string, message: string): void =>
    deps.report.events.pod(pod, { type: 'Normal', reason, message }, containerFieldPath(pod, container.name));
  let created: CreatedContainer;
  try {
    created =
      options.created === undefined
        ? await createContainer(deps, context, container, options.replaces)
        : await existing(context, container, options.created);
    const { id } = created;
    if (options.created === undefined) emit('Created', 'Container created');
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
    const stage = deps.report.stages?.begin(podUid(pod), 'start', container.name);
    await withReason('RunContainerError', () => staged(stage, letCallFinish(deps, signal, start)), {
      containerId: id,
    });
    deps.report.stages?.started(podUid(pod), container.name, asContainerId(id));
  } finally {
    context.startSlot.stepDone();
  }
  const { id, restartCount } = created;
  deps.inputs.exclusive.started(pod, container);
  emit('Started', 'Container started');
  logStarted(deps, context, container, id, restartCount, clock.now());
  await linkLog(deps, pod, { name: container.name, id, restartCount });
  await runPostStart(deps, context, container, id);
}

async function existing(
  context: SyncContext,
  container: Container,
  id: ContainerId,
): Promise<CreatedContainer> {
  await context.startSlot.acquire();
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
