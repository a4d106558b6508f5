// The columns READY, STATUS and RESTARTS of `kubectl get pods`, computed from a pod. Pure.
// Upstream: printPod in pkg/printers/internalversion/printers.go, where the API server computes them.
import type { ContainerStatus, Pod, PodStatus } from '../k8s/types.ts';
import type { PodRow } from '../ports/node-page.ts';
import { isSidecar } from './restart-policy.ts';

interface PodSummary {
  /** Running, CrashLoopBackOff, Init:0/1, Terminating … */
  readonly word: string;
  /** What a reader should make of the word. */
  readonly tone: PodRow['tone'];
  readonly ready: number;
  /** Regular containers and sidecars. */
  readonly containers: number;
  readonly restarts: number;
  /** When the container before the newest restart ended. */
  readonly lastRestartMs: number | undefined;
}

interface SummaryOptions {
  /** Instead of the pod's own. */
  readonly status?: PodStatus;
  /** The kubelet terminates the pod, although its object may not be deleted: that of a static pod never is. */
  readonly isEnding?: boolean;
}

export function podSummary(
  original: Pod,
  { isEnding = false, status: own }: SummaryOptions = {},
): PodSummary {
  const pod = own === undefined ? original : { ...original, status: own };
  const { spec, status } = pod;
  const sidecars = new Set((spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const init = initState(pod, sidecars);
  const isInitialized = init.word === undefined || hasTrueCondition(pod, 'Initialized');
  const main = isInitialized ? mainState(pod) : undefined;
  const counted = isInitialized
    ? [...init.statuses.filter(({ name }) => sidecars.has(name)), ...(status?.containerStatuses ?? [])]
    : init.statuses;
  const ends = counted.map(lastEndMs).filter((ms) => ms !== undefined);
  const word = finalWord(pod, main?.word ?? init.word ?? baseWord(pod), isEnding);
  const ready = init.readySidecars + (main?.ready ?? 0);
  const containers = (spec?.containers.length ?? 0) + sidecars.size;
  return {
    word,
    tone: toneOf(word, ready >= containers, status?.phase),
    ready,
    containers,
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestartMs: ends.length === 0 ? undefined : Math.max(...ends),
  };
}

const busyWords: ReadonlySet<string> = new Set([
  'Terminating',
  'Pending',
  'Running',
  'NotReady',
  'ContainerCreating',
  'PodInitializing',
  'Completed',
  'SchedulingGated',
]);

function toneOf(word: string, isReady: boolean, phase: string | undefined): PodRow['tone'] {
  if (word === 'Running' && isReady) return 'good';
  if (phase === 'Succeeded') return 'done';
  if (phase === 'Failed') return 'bad';
  return busyWords.has(word) || /^Init:\d{1,9}\/\d{1,9}$/.test(word) ? 'busy' : 'bad';
}

function baseWord({ status }: Pod): string {
  const isGated = status?.conditions?.some(
    ({ reason, type }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  if (isGated === true) return 'SchedulingGated';
  return nonEmpty(status?.reason) ?? nonEmpty(status?.phase) ?? 'Pending';
}

interface InitState {
  /** Undefined once every init container has succeeded or, as a sidecar, has started. */
  readonly word: string | undefined;
  readonly readySidecars: number;
  /** Up to the init container that the pod waits for. */
  readonly statuses: readonly ContainerStatus[];
}

function initState({ spec, status }: Pod, sidecars: ReadonlySet<string>): InitState {
  const all = status?.initContainerStatuses ?? [];
  let readySidecars = 0;
  for (const [at, each] of all.entries()) {
    const { terminated } = each.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecars.has(each.name) && each.started === true) {
      if (each.ready) readySidecars += 1;
      continue;
    }
    const word = initWord(each) ?? `Init:${at}/${spec?.initContainers?.length ?? 0}`;
    return { word, readySidecars, statuses: all.slice(0, at + 1) };
  }
  return { word: undefined, readySidecars, statuses: all };
}

function initWord({ state }: ContainerStatus): string | undefined {
  const { terminated, waiting } = state ?? {};
  if (terminated !== undefined) return `Init:${endWord(terminated)}`;
  const reason = nonEmpty(waiting?.reason);
  return reason === undefined || reason === 'PodInitializing' ? undefined : `Init:${reason}`;
}

/** The first container in the status that has something to report decides. */
function mainState(pod: Pod): { readonly word: string | undefined; readonly ready: number } {
  const { status } = pod;
  const running = (status?.containerStatuses ?? []).filter(
    ({ ready, state }) =>
      ready && state?.running !== undefined && nonEmpty(state.waiting?.reason) === undefined,
  );
  const word = (status?.containerStatuses ?? [])
    .map(({ state }) => nonEmpty(state?.waiting?.reason) ?? (state?.terminated && endWord(state.terminated)))
    .find((each) => each !== undefined);
  const shown = word ?? baseWord(pod);
  if (shown !== 'Completed' || running.length === 0) return { word, ready: running.length };
  return { word: hasTrueCondition(pod, 'Ready') ? 'Running' : 'NotReady', ready: running.length };
}

/** The reason of a container's end, or its exit code or signal. */
export function endWord(end: {
  readonly reason?: string;
  readonly signal?: number;
  readonly exitCode: number;
}): string {
  const { exitCode, signal = 0 } = end;
  return nonEmpty(end.reason) ?? (signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`);
}

function finalWord({ metadata, status }: Pod, word: string, isEnding: boolean): string {
  const isDeleted = metadata?.deletionTimestamp !== undefined;
  if (isDeleted && status?.reason === 'NodeLost') return 'Unknown';
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  // differs from upstream: a static pod that ends has no deletionTimestamp.
  return (isDeleted || isEnding) && !isOver ? 'Terminating' : word;
}

function hasTrueCondition({ status }: Pod, type: string): boolean {
  return status?.conditions?.some((each) => each.type === type && each.status === 'True') === true;
}

function lastEndMs({ lastState }: ContainerStatus): number | undefined {
  const ms = Date.parse(lastState?.terminated?.finishedAt ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
