// Creates a container on the runtime: image, restart count, log directory, configuration. Upstream: steps 1 and 2 of
// startContainer in kuberuntime_container.go.
import type { ContainerConfig } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest, CriRuntime } from '../../api/cri/runtime.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { targetContainerName } from '../../api/pod/find-container.ts';
import { latestContainer, neverRan } from '../../api/pod/observed.ts';
import { type ContainerId, podUid } from '../../api/pod/pod-ref.ts';
import { withPodLimits } from '../../api/pod/resize.ts';
import { staged } from '../../api/ports/start-stages.ts';
import { isAbort, isKind, KubeletError } from '../../base/errors.ts';
import { podLogDirectory } from '../paths.ts';
import type {
  ContainerRecords,
  FoundImage,
  PodInputs,
  PodRuntimeDeps,
  RuntimeNode,
  RuntimeReports,
} from '../runtime-deps.ts';
import { podAddresses } from '../sandbox/pod-addresses.ts';
import { removeLogsOfNeverRan } from '../stop/garbage.ts';
import { letCallFinish } from '../stop/let-call-finish.ts';
import { isRefusal } from '../stop/refused-removals.ts';
import { unlessGone } from '../stop/stop-container.ts';
import type { PreparedContainer, SyncContext } from '../sync-context.ts';
import { withReason } from '../with-reason.ts';
import { generateContainerConfig } from './container-config.ts';
import { containerOptions, messageMount, type OptionsInput } from './container-options.ts';
import { imageMountFailure, imageVolumesOf, isImageMountFailure } from './image-volumes.ts';
import { runAsNonRootViolation } from './security-context.ts';

interface PrepareDeps {
  readonly node: Pick<RuntimeNode, 'files' | 'settings'>;
  readonly inputs: Pick<PodInputs, 'images'>;
}

export interface CreateDeps extends Pick<PodRuntimeDeps, 'clock'> {
  readonly cri: Pick<CriRuntime, 'createContainer' | 'podSandboxStatus' | 'removeContainer' | 'version'>;
  readonly node: Pick<RuntimeNode, 'cgroups' | 'files' | 'settings'>;
  readonly inputs: Pick<PodInputs, 'exclusive' | 'images' | 'objects' | 'volumes'>;
  readonly records: Pick<ContainerRecords, 'refusedRemovals' | 'resizes' | 'unfinishedHooks'>;
  readonly report: Pick<RuntimeReports, 'log' | 'stages' | 'starts'>;
}

export interface CreatedContainer {
  readonly id: string;
  readonly restartCount: number;
}

/**
 * The part of a container's start that does not need the sandbox, once per sync: looks up the image, computes the restart count,
 * and creates the log directory and the termination message file. Runs while the sandbox is being created.
 */
export function prepareContainer(
  deps: PrepareDeps,
  context: SyncContext,
  container: Container,
): Promise<PreparedContainer> {
  const { files, settings } = deps.node;
  const { pod, signal } = context;
  const pending = context.prepared.get(container.name);
  if (pending !== undefined) return pending;
  const ownFiles = withReason('CreateContainerConfigError', async () => {
    const restartCount = await nextRestartCount(deps.node, context, container);
    const [message] = await Promise.all([
      messageMount(deps.node, { pod, container, restartCount }),
      files.makeDirectory(`${podLogDirectory(settings.podLogsDir, pod)}/${container.name}`, 0o755),
    ]);
    return { restartCount, message };
  });
  const image = deps.inputs.images.find(container.image ?? '', signal, { pod, container });
  const prepared = Promise.all([image, ownFiles]).then(([found, own]) => ({ image: found, ...own }));
  // The start of the container handles a failure. If the sandbox fails first, no one awaits this promise.
  prepared.catch(() => undefined);
  context.prepared.set(container.name, prepared);
  return prepared;
}

export async function createContainer(
  deps: CreateDeps,
  context: SyncContext,
  container: Container,
  replaces: ContainerId | undefined,
): Promise<CreatedContainer> {
  const { inputs, report } = deps;
  const { pod, sandbox, signal } = context;
  if (sandbox === undefined)
    throw new KubeletError('internal', 'RunContainerError', 'the pod has no sandbox');
  const imageVolumes = await imageVolumesOf(deps, context, container);
  const prepared = await prepareContainer(deps, context, container);
  const image = await inputs.images.ensure(
    { pod, container, sandboxConfig: sandbox.config },
    prepared.image,
    signal,
  );
  const stage = report.stages?.begin(podUid(pod), 'create', container.name);
  const parts = { image, prepared: { ...prepared, imageVolumes }, replaces, sandbox };
  return await staged(stage, createPrepared(deps, context, container, parts));
}

interface ContainerParts {
  readonly image: FoundImage;
  readonly prepared: PreparedContainer & Pick<OptionsInput, 'imageVolumes'>;
  readonly replaces: ContainerId | undefined;
  readonly sandbox: NonNullable<SyncContext['sandbox']>;
}

async function createPrepared(
  deps: CreateDeps,
  context: SyncContext,
  container: Container,
  { image, prepared, replaces, sandbox }: ContainerParts,
): Promise<CreatedContainer> {
  const { cri } = deps;
  const { pod, signal } = context;
  const { imageVolumes, restartCount } = prepared;
  const config = await withReason('CreateContainerConfigError', () =>
    buildConfig(deps, context, container, image, prepared),
  );
  await context.startSlot.acquire();
  context.acted = true;
  const id = await withReason('CreateContainerError', async () => {
    const attempt = await freeAttempt(deps, context, container.name, restartCount, replaces);
    // Written to disk while the runtime works; the start of the container waits for it.
    recordResources(deps.records, pod, container);
    const request = {
      podSandboxId: sandbox.id,
      config: { ...config, metadata: { ...config.metadata, attempt } },
      sandboxConfig: sandbox.config,
    };
    try {
      const create = (late: AbortSignal) => cri.createContainer(request, { signal: late });
      const { containerId } = await letCallFinish(deps, signal, create);
      if (imageVolumes.size > 0) deps.report.starts?.imageVolumes(imageVolumes.size, 'mounted');
      return containerId;
    } catch (err) {
      if (imageVolumes.size === 0) throw err;
      const failure = await imageMountFailure(cri, err, signal);
      deps.report.starts?.imageVolumes(
        imageVolumes.size,
        isImageMountFailure(failure) ? 'failed' : undefined,
      );
      throw failure;
    }
  });
  context.containerIds.push(id);
  return { id, restartCount };
}

/** The resources that the container is created with, the limits of its pod included. */
function recordResources({ resizes }: CreateDeps['records'], pod: Pod, container: Container): void {
  const podLevel = resizes?.podLevel === true ? pod.spec?.resources : undefined;
  resizes?.actuate(podUid(pod), container.name, withPodLimits(container.resources, podLevel));
}

async function buildConfig(
  deps: CreateDeps,
  context: SyncContext,
  container: Container,
  image: FoundImage,
  prepared: PreparedContainer & Pick<OptionsInput, 'imageVolumes'>,
): Promise<CriRequest<ContainerConfig>> {
  const { imageVolumes, message, restartCount } = prepared;
  const { pod, sandbox, signal } = context;
  const targetId = targetOf(context, container);
  const podIps = await podAddresses(deps, context);
  const grants = await deps.inputs.exclusive.grants(pod, container, signal);
  const request = { pod, container, restartCount, podIps, message, imageVolumes, grants };
  const options = await containerOptions(deps, request, signal);
  const violation = runAsNonRootViolation(pod, container, image);
  if (violation !== undefined) throw new KubeletError('invalid', 'CreateContainerConfigError', violation);
  const users = sandbox?.config.linux?.securityContext?.namespaceOptions?.usernsOptions;
  const input = {
    pod,
    container,
    restartCount,
    imageRef: image.ref,
    imageUser: image,
    users,
    volumeGroups: deps.inputs.volumes.extraGroups(pod),
    targetId,
    options,
    grants,
  };
  return generateContainerConfig(input, deps.node.settings);
}

/** The target container of an ephemeral container has to exist already. */
function targetOf({ pod, seen }: SyncContext, container: Container): string | undefined {
  const targetName = targetContainerName(pod, container.name);
  if (targetName === undefined) return undefined;
  const target = latestContainer(seen, targetName);
  if (target !== undefined) return target.id;
  const message = `unable to find target container ${targetName}`;
  throw new KubeletError('invalid', 'CreateContainerConfigError', message);
}

/**
 * One more than the newest observed container's. If the runtime has none (after a reboot), one more than the newest log's, so that
 * a log is never overwritten.
 */
async function nextRestartCount(
  { files, settings }: PrepareDeps['node'],
  context: SyncContext,
  container: Container,
): Promise<number> {
  const current = latestContainer(context.seen, container.name);
  if (current !== undefined) return current.restartCount + (neverRan(current) ? 0 : 1);
  if (context.logsAreNew) return 0;
  const directory = `${podLogDirectory(settings.podLogsDir, context.pod)}/${container.name}`;
  const names = await files.listNames(directory);
  const counts = names.flatMap((name) => /^(\d+)\.log/.exec(name)?.[1] ?? []).map(Number);
  return counts.length === 0 ? 0 : Math.max(...counts) + 1;
}

/** The container's attempt number: its restart count, unless a container that cannot be removed has that attempt. */
async function freeAttempt(
  deps: CreateDeps,
  context: SyncContext,
  name: string,
  restartCount: number,
  replaces: ContainerId | undefined,
): Promise<number> {
  const removed = replaces !== undefined && (await removeNeverRan(deps, context, replaces));
  const taken = (context.seen?.containers ?? []).filter(
    (each) => each.name === name && !(removed && each.id === replaces),
  );
  return Math.max(restartCount, ...taken.map(({ attempt }) => attempt + 1));
}

/**
 * An interrupted start may leave a process behind, and the runtime then refuses to remove its container. The kubelet kills that
 * process through its cgroup. While the runtime still reports the container as created, it is about to give it up, and the next
 * sync removes it. A container that it reports as exited may stay for as long as the runtime runs (containerd: the task was
 * created, but its creator was cancelled); it is left behind.
 */
async function removeNeverRan(deps: CreateDeps, context: SyncContext, id: ContainerId): Promise<boolean> {
  const { seen } = context;
  const isCreated = seen?.containers.find((each) => each.id === id)?.state === 'created';
  const removeLog = async (): Promise<void> => {
    if (seen === undefined) return;
    const own = seen.containers.filter((each) => each.id === id);
    await removeLogsOfNeverRan(deps.node, seen, own);
  };
  // Before the container: a kubelet killed in between must not find a log without a container, which would count as a restart.
  // A created container may be in the middle of a start that has the log open; the runtime removes it only if it is not.
  if (!isCreated) await removeLog();
  try {
    await unlessGone(deps.cri.removeContainer({ containerId: id }, { signal: context.signal }));
    if (isCreated) await removeLog();
    await deps.records.unfinishedHooks.forget(id);
    return true;
  } catch (err) {
    if (isAbort(err) || isKind(err, 'unavailable')) throw err;
    await deps.node.cgroups?.killContainer(podUid(context.pod), id);
    if (isCreated || !isRefusal(err)) throw err;
    deps.records.refusedRemovals.record(id, err);
    return false;
  }
}
