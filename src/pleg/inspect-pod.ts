// Reads one pod from the runtime. Exited containers and sandbox addresses cannot change and are read once; a running container is
// read again only after a resize. Upstream: GetPodStatus in kuberuntime_manager.go.
// Invariant: an unchanged sandbox or container is the same object as in the previous observation.
import { isDeepStrictEqual } from 'node:util';
import type { PodSandboxStatus } from '../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../api/cri/labels.ts';
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { StartedPod } from '../api/ports/started-pod.ts';
import { isKind } from '../base/errors.ts';
import { isPresent } from '../base/guards.ts';
import {
  containerState,
  isReady,
  type ListedPod,
  observedContainer,
  observedPod,
  observedSandbox,
} from './observe.ts';
import { fullMessage, type TailFiles } from './termination-message.ts';

export type InspectRuntime = Pick<
  CriRuntime,
  'listPodSandbox' | 'listContainers' | 'podSandboxStatus' | 'containerStatus'
>;

export interface InspectOptions {
  readonly files?: TailFiles | undefined;
  /** Whether the kernel's OOM killer has killed a process of this container. */
  readonly wasOomKilled?: ((containerId: string) => boolean) | undefined;
  /** Reads running containers even if the list shows no change. */
  readonly rereadRunning?: boolean | undefined;
  /** All that the runtime can have of the pod, so that nothing is listed. */
  readonly started?: StartedPod | undefined;
}

export async function inspectPod(
  runtime: InspectRuntime,
  uid: PodUid,
  known: ObservedPod | undefined,
  nowMs: number,
  signal: AbortSignal,
  options: InspectOptions = {},
): Promise<ObservedPod | undefined> {
  if (options.started !== undefined)
    return await inspectStarted(runtime, uid, options.started, nowMs, signal, options);
  const labelSelector = { [criLabels.podUid]: uid };
  const [sandboxList, containerList] = await Promise.all([
    runtime.listPodSandbox({ filter: { labelSelector } }, { signal }),
    runtime.listContainers({ filter: { labelSelector } }, { signal }),
  ]);
  const listed: ListedPod = { sandboxes: sandboxList.items, containers: containerList.containers };
  const [sandboxes, containers] = await Promise.all([
    Promise.all(listed.sandboxes.map((each) => inspectSandbox(runtime, each, known, signal))),
    Promise.all(listed.containers.map((each) => inspectContainer(runtime, each, known, signal, options))),
  ]);
  return observedPod(uid, listed, sandboxes.filter(isPresent), containers.filter(isPresent), nowMs);
}

/** A pod that was just started. The next relist finds anything else that the runtime may have of it. */
async function inspectStarted(
  runtime: InspectRuntime,
  uid: PodUid,
  { containerIds, sandbox, sandboxId }: StartedPod,
  nowMs: number,
  signal: AbortSignal,
  options: InspectOptions,
): Promise<ObservedPod | undefined> {
  const readSandbox = async (): Promise<PodSandboxStatus | undefined> =>
    (await runtime.podSandboxStatus({ podSandboxId: sandboxId }, { signal })).status;
  const [status, ...containers] = await Promise.all([
    sandbox ?? unlessGone(readSandbox),
    ...containerIds.map((id) => unlessGone(() => readContainer(runtime, id, sandboxId, signal, options))),
  ]);
  const found = { sandboxes: status === undefined ? [] : [status], containers: [] };
  return observedPod(uid, found, found.sandboxes.map(observedSandbox), containers.filter(isPresent), nowMs);
}

async function inspectSandbox(
  runtime: InspectRuntime,
  listed: ListedPod['sandboxes'][number],
  known: ObservedPod | undefined,
  signal: AbortSignal,
): Promise<ObservedSandbox | undefined> {
  const before = known?.sandboxes.find((sandbox) => sandbox.id === listed.id);
  const settled = before !== undefined && (before.ips.length > 0 || before.hostNetwork || !before.ready);
  if (settled && before.ready === isReady(listed.state)) return before;
  return await unlessGone(async () => {
    const answer = await runtime.podSandboxStatus({ podSandboxId: listed.id }, { signal });
    return answer.status === undefined ? undefined : observedSandbox(answer.status);
  });
}

async function inspectContainer(
  runtime: InspectRuntime,
  listed: ListedPod['containers'][number],
  known: ObservedPod | undefined,
  signal: AbortSignal,
  options: InspectOptions,
): Promise<ObservedContainer | undefined> {
  const { rereadRunning = false } = options;
  const before = known?.containers.find((container) => container.id === listed.id);
  const isKnown = before?.state === containerState(listed.state) && before.state !== 'unknown';
  if (isKnown && !(rereadRunning && before.state === 'running')) return before;
  return await unlessGone(async () => {
    const now = await readContainer(runtime, listed.id, listed.podSandboxId, signal, options);
    return isDeepStrictEqual(now, before) ? before : now;
  });
}

async function readContainer(
  runtime: InspectRuntime,
  containerId: string,
  sandboxId: string,
  signal: AbortSignal,
  { files, wasOomKilled }: InspectOptions,
): Promise<ObservedContainer | undefined> {
  const { status } = await runtime.containerStatus({ containerId }, { signal });
  if (status === undefined) return undefined;
  const container = { ...observedContainer(status, sandboxId), message: await fullMessage(status, files) };
  return failedPlainly(container) && wasOomKilled?.(containerId) === true
    ? { ...container, reason: 'OOMKilled' }
    : container;
}

/**
 * differs from upstream: a runtime learns of a container's exit and of its OOM kill in two ways. Between the two it reports a plain
 * failure. The kernel log reports the OOM kill before that.
 */
function failedPlainly({ exitCode, reason, state }: ObservedContainer): boolean {
  return state === 'exited' && exitCode !== 0 && reason === 'Error';
}

/** A sandbox or container may be removed between the list and the read: that is a result, not a failure. */
async function unlessGone<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read();
  } catch (err) {
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}
