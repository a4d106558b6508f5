// The columns STATUS, READY and RESTARTS of `kubectl get pods`. Pure.
// Upstream: printPod in pkg/printers/internalversion/printers.go.
import type { ContainerStatus, Pod, PodStatus } from '../../api/k8s/types.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import type { PodRow } from '../../api/ports/node-page.ts';

export interface StatusWords {
  readonly word: string;
  readonly ready: number;
  readonly containers: number;
  readonly restarts: number;
  /** RFC 3339; empty if no container was restarted. */
  readonly lastRestart: string;
}

interface Restarts {
  readonly count: number;
  readonly last: string;
}

const none: Restarts = { count: 0, last: '' };

/** `isEnding`: the kubelet terminates the pod, although its API object may not be deleted: a static pod never is. */
export function statusWords(pod: Pod, status: PodStatus, isEnding: boolean): StatusWords {
  const sidecars = new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const containers = (pod.spec?.containers.length ?? 0) + sidecars.size;
  const init = initWords(status.initContainerStatuses ?? [], sidecars, pod.spec?.initContainers?.length ?? 0);
  const isInitialized = init.word === undefined || hasCondition(status, 'Initialized');
  const initial = init.word ?? status.reason ?? status.phase ?? 'Pending';
  const main = mainWords(status.containerStatuses ?? [], initial === '' ? 'Pending' : initial);
  const restarts = isInitialized ? addRestarts(init.ofSidecars, main.restarts) : init.ofAll;
  const word = isInitialized ? runningWord(main, status) : initial;
  const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
  // differs from upstream: an ended static pod has no deletionTimestamp.
  const isTerminating = (pod.metadata?.deletionTimestamp !== undefined || isEnding) && !isOver;
  return {
    word: isTerminating ? 'Terminating' : word,
    ready: init.ready + (isInitialized ? main.ready : 0),
    containers,
    restarts: restarts.count,
    lastRestart: restarts.last,
  };
}

interface InitWords {
  /** Undefined: every init container has done its part. */
  readonly word: string | undefined;
  /** Sidecars that are ready. */
  readonly ready: number;
  readonly ofAll: Restarts;
  readonly ofSidecars: Restarts;
}

function initWords(
  statuses: readonly ContainerStatus[],
  sidecars: ReadonlySet<string>,
  count: number,
): InitWords {
  let ready = 0;
  let ofAll = none;
  let ofSidecars = none;
  for (const [index, container] of statuses.entries()) {
    const isSidecarStatus = sidecars.has(container.name);
    ofAll = addRestarts(ofAll, restartsOf(container));
    if (isSidecarStatus) ofSidecars = addRestarts(ofSidecars, restartsOf(container));
    if (container.state?.terminated?.exitCode === 0) continue;
    if (isSidecarStatus && container.started === true) {
      if (container.ready) ready++;
      continue;
    }
    return { word: initWord(container, index, count), ready, ofAll, ofSidecars };
  }
  return { word: undefined, ready, ofAll, ofSidecars };
}

function initWord({ state }: ContainerStatus, index: number, count: number): string {
  if (state?.terminated !== undefined) return `Init:${endWord(state.terminated)}`;
  const reason = state?.waiting?.reason ?? '';
  return reason === '' || reason === 'PodInitializing' ? `Init:${index}/${count}` : `Init:${reason}`;
}

interface MainWords {
  readonly word: string;
  readonly ready: number;
  readonly isAnyRunning: boolean;
  readonly restarts: Restarts;
}

/** The first container with something to say gives the word. */
function mainWords(statuses: readonly ContainerStatus[], initial: string): MainWords {
  let word = initial;
  let ready = 0;
  let restarts = none;
  for (const container of statuses.toReversed()) {
    const { state } = container;
    restarts = addRestarts(restarts, restartsOf(container));
    if (state?.waiting !== undefined && (state.waiting.reason ?? '') !== '')
      word = state.waiting.reason ?? '';
    else if (state?.terminated !== undefined) word = endWord(state.terminated);
    else if (container.ready && state?.running !== undefined) ready++;
  }
  return { word, ready, isAnyRunning: ready > 0, restarts };
}

/** A pod with a completed container is Running if another one is. */
function runningWord({ isAnyRunning, word }: MainWords, status: PodStatus): string {
  if (word !== 'Completed' || !isAnyRunning) return word;
  return hasCondition(status, 'Ready') ? 'Running' : 'NotReady';
}

export function endWord({
  exitCode,
  reason = '',
  signal = 0,
}: {
  readonly exitCode: number;
  readonly reason?: string;
  readonly signal?: number;
}): string {
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function hasCondition({ conditions = [] }: PodStatus, type: string): boolean {
  return conditions.some((each) => each.type === type && each.status === 'True');
}

function restartsOf({ lastState, restartCount }: ContainerStatus): Restarts {
  return { count: restartCount, last: lastState?.terminated?.finishedAt ?? '' };
}

function addRestarts(a: Restarts, b: Restarts): Restarts {
  return { count: a.count + b.count, last: a.last > b.last ? a.last : b.last };
}

const busyWords: ReadonlySet<string> = new Set([
  'Terminating',
  'Pending',
  'Running',
  'NotReady',
  'ContainerCreating',
  'PodInitializing',
  'Completed',
]);

/** What a reader should make of the word. */
export function toneOf({ containers, ready, word }: StatusWords, phase: string | undefined): PodRow['tone'] {
  if (word === 'Running' && ready >= containers) return 'good';
  if (phase === 'Succeeded') return 'done';
  if (phase === 'Failed') return 'bad';
  return busyWords.has(word) || /^Init:\d{1,9}\/\d{1,9}$/.test(word) ? 'busy' : 'bad';
}
