// Starts one container: image, config, create, start. Upstream: startContainer in kuberuntime_container.go.
// Invariant: every failure ends as a waiting reason on that container, never as the failure of its siblings.
import { seenAnnotation } from '../api/cri-labels.ts';
import { containerFieldPath } from '../api/events.ts';
import type { Container } from '../api/k8s.ts';
import { latestContainer, neverRan } from '../api/observed.ts';
import type { ContainerId } from '../api/pod-ref.ts';
import { podRef, podUid } from '../api/pod-ref.ts';
import { describeError, isAbort, isKind, KubeletError } from '../base/errors.ts';
import { containerSpec } from './container-actions.ts';
import { generateContainerConfig } from './container-config.ts';
import { podLogDirectory } from './paths.ts';
import { podFormat, runAsNonRootViolation } from './security-context.ts';
import { unlessGone } from './stop-container.ts';
import type { PodRuntimeDeps, PreparedContainer, SyncContext } from './sync-context.ts';

export interface StartOptions {
  /** A container that exists already and only has to be started. */
  readonly created?: ContainerId;
  /** A container that never ran: its name has to be freed first. */
  readonly replaces?: ContainerId | undefined;
}

export async function startContainer(
  deps: PodRuntimeDeps,
  context: SyncContext,
  name: string,
  options: StartOptions,
): Promise<void> {
  const { pod, seen } = context;
  const container = containerSpec(pod, name);
  if (container === undefined) return;
  const wait = deps.backoff.take(pod, container, seen);
  if (wait !== undefined) {
    context.waiting[name] = { reason: 'CrashLoopBackOff', message: wait.message };
    const message = `Back-off restarting failed container ${name} in pod ${podFormat(pod)}`;
    const event = { type: 'Warning', reason: 'BackOff', message } as const;
    deps.events.pod(pod, event, containerFieldPath(pod, name));
    context.retries.push(wait.retryInMs);
    return;
  }
  try {
    if (options.created !== undefined) await start(deps, context, container, options.created);
    else await createAndStart(deps, context, container, options.replaces);
  } catch (err) {
    // A runtime that went away is the pod's trouble, not this container's.
    if (isAbort(err) || context.signal.aborted) throw err;
    const reason = err instanceof KubeletError ? err.reason : 'RunContainerError';
    context.waiting[name] = { reason, message: describeError(err) };
    const imageRetryMs = deps.images.retryInMs(pod, container);
    if (isImageReason(reason) && imageRetryMs !== undefined) context.retries.push(imageRetryMs);
    else context.failure ??= err;
    if (isKind(err, 'unavailable') && !isImageReason(reason)) throw err;
  }
}

/** What a container's start asks for before anything else, once per sync: whether its image is there, and where its log goes. */
export function prepareContainer(
  deps: PodRuntimeDeps,
  context: SyncContext,
  container: Container,
): Promise<PreparedContainer> {
  const { files, images, settings } = deps;
  const known = context.prepared.get(container.name);
  if (known !== undefined) return known;
  const logs = withReason('CreateContainerConfigError', async () => {
    const count = await nextRestartCount(deps, context, container);
    await files.makeDirectory(
      `${podLogDirectory(settings.podLogsDir, context.pod)}/${container.name}`,
      0o755,
    );
    return count;
  });
  const asker = { pod: context.pod, container };
  const found = images.find(container.image ?? '', context.signal, asker);
  const prepared = Promise.all([found, logs]).then(([image, restartCount]) => ({ image, restartCount }));
  // Whoever starts the container hears of a failure; a sandbox that fails first leaves it unheard.
  prepared.catch(() => undefined);
  context.prepared.set(container.name, prepared);
  return prepared;
}

async function createAndStart(
  deps: PodRuntimeDeps,
  context: SyncContext,
  container: Container,
  replaces: ContainerId | undefined,
): Promise<void> {
  const { clock, cri, images, settings, slots } = deps;
  const { pod, sandbox, signal } = context;
  if (sandbox === undefined)
    throw new KubeletError('internal', 'RunContainerError', 'the pod has no sandbox');
  const prepared = await prepareContainer(deps, context, container);
  const image = await images.ensure(
    { pod, container, sandboxConfig: sandbox.config },
    prepared.image,
    signal,
  );
  const violation = runAsNonRootViolation(pod, container, image);
  if (violation !== undefined) throw new KubeletError('invalid', 'CreateContainerConfigError', violation);
  const { restartCount } = prepared;
  const input = { pod, container, restartCount, imageRef: image.ref, imageUser: image };
  const config = await withReason('CreateContainerConfigError', async () =>
    generateContainerConfig(input, settings),
  );
  const slot = await slots.acquire(context.order, signal);
  context.acted = true;
  let id: string;
  try {
    id = await withReason('CreateContainerError', async () => {
      if (replaces !== undefined) {
        await removeNeverRan(deps, context, replaces);
      }
      const request = { podSandboxId: sandbox.id, config, sandboxConfig: sandbox.config };
      return (await cri.createContainer(request, { signal })).containerId;
    });
    await withReason('RunContainerError', () => cri.startContainer({ containerId: id }, { signal }));
  } finally {
    slot.release();
  }
  logStarted(deps, context, container, id, restartCount, clock.now());
}

async function start(
  deps: PodRuntimeDeps,
  context: SyncContext,
  container: Container,
  id: ContainerId,
): Promise<void> {
  const slot = await deps.slots.acquire(context.order, context.signal);
  context.acted = true;
  try {
    const { signal } = context;
    await withReason('RunContainerError', () => deps.cri.startContainer({ containerId: id }, { signal }));
  } finally {
    slot.release();
  }
  const restartCount = latestContainer(context.seen, container.name)?.restartCount ?? 0;
  logStarted(deps, context, container, id, restartCount, deps.clock.now());
}

/**
 * One more than the newest container seen; where the runtime has forgotten them all (a reboot), one more than the newest log,
 * so that a log is never written over.
 */
async function nextRestartCount(
  deps: PodRuntimeDeps,
  context: SyncContext,
  container: Container,
): Promise<number> {
  const current = latestContainer(context.seen, container.name);
  if (current !== undefined) return current.restartCount + (neverRan(current) ? 0 : 1);
  const directory = `${podLogDirectory(deps.settings.podLogsDir, context.pod)}/${container.name}`;
  const names = await deps.files.listNames(directory);
  const counts = names.flatMap((name) => /^(\d+)\.log/.exec(name)?.[1] ?? []).map(Number);
  return counts.length === 0 ? 0 : Math.max(...counts) + 1;
}

/** What fails in here is told under this reason, whatever it was. */
async function withReason<T>(reason: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (isAbort(err)) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    throw new KubeletError(kind, reason, describeError(err), { cause: err });
  }
}

function isImageReason(reason: string): boolean {
  return ['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable', 'SignatureValidationFailed'].includes(
    reason,
  );
}

function logStarted(
  deps: PodRuntimeDeps,
  context: SyncContext,
  container: Container,
  id: string,
  restartCount: number,
  nowMs: number,
): void {
  const seenAt = context.pod.metadata?.annotations?.[seenAnnotation];
  const sinceSeenMs = seenAt === undefined ? undefined : Math.round(nowMs - Date.parse(seenAt));
  deps.log.info('Container started', {
    pod: podRef(context.pod),
    container: container.name,
    containerID: id,
    restartCount,
    ...(restartCount === 0 && sinceSeenMs !== undefined ? { sinceSeenMs } : {}),
  });
}

/**
 * A start that was cut off may have left its process running although the runtime calls the container ended, and refuses
 * to remove it then. Nobody else can end that process: it is killed by its cgroup, and the next pass removes the container.
 */
async function removeNeverRan(deps: PodRuntimeDeps, context: SyncContext, id: ContainerId): Promise<void> {
  try {
    await unlessGone(deps.cri.removeContainer({ containerId: id }, { signal: context.signal }));
  } catch (err) {
    if (!isAbort(err) && !isKind(err, 'unavailable'))
      await deps.cgroups.killContainer(podUid(context.pod), id);
    throw err;
  }
}
