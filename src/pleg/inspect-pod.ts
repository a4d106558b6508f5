// Asks the runtime for one pod, anew. What cannot change any more (an ended container, a sandbox's address) is not asked twice,
// and what runs only by those who have changed what it may use. Invariant: what is as it was is the same object as before.
import { isDeepStrictEqual } from 'node:util';

import type { CriRuntime } from '../api/cri.ts';
import { criLabels } from '../api/cri-labels.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../api/observed.ts';
import type { PodUid } from '../api/pod-ref.ts';
import { isKind } from '../base/errors.ts';
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
  /** Running containers are asked for although a list does not show them to have changed. */
  readonly anew?: boolean;
}

export async function inspectPod(
  runtime: InspectRuntime,
  uid: PodUid,
  known: ObservedPod | undefined,
  nowMs: number,
  signal: AbortSignal,
  options: InspectOptions = {},
): Promise<ObservedPod | undefined> {
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
  { anew = false, files }: InspectOptions,
): Promise<ObservedContainer | undefined> {
  const before = known?.containers.find((container) => container.id === listed.id);
  const isKnown = before?.state === containerState(listed.state) && before.state !== 'unknown';
  if (isKnown && !(anew && before.state === 'running')) return before;
  return await unlessGone(async () => {
    const answer = await runtime.containerStatus({ containerId: listed.id }, { signal });
    if (answer.status === undefined) return undefined;
    const message = await fullMessage(answer.status, files);
    const now = { ...observedContainer(answer.status, listed.podSandboxId), message };
    return isDeepStrictEqual(now, before) ? before : now;
  });
}

/** Between the list and the question something may have been removed: that is an answer, not a fault. */
async function unlessGone<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (err) {
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}
