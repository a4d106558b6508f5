// Pods with their containers and explanations, as tables and reports show them. Pure.
// A text is as safe as it was in the answer: parseSafeJson() makes it safe for a terminal.
import type { Container, ContainerState, ContainerStatus, Pod } from '../api/k8s/types.ts';
import { podSummary } from '../api/pod/pod-status-word.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import type { PodRow } from '../api/ports/node-page.ts';
import { parseTime } from './amounts.ts';

/** Of GET /explain. */
export interface ExplainedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly explanation: string;
  readonly since?: string;
  readonly events?: readonly ExplainedEvent[];
}

interface ExplainedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly count: number;
  readonly lastTimestamp: string;
}

type Tone = PodRow['tone'];

export interface PodLine {
  /** namespace/name. */
  readonly pod: string;
  readonly uid: string;
  /** As in kubectl's column STATUS. */
  readonly status: string;
  readonly tone: Tone;
  readonly ready: number;
  readonly containers: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
  readonly createdMs: number | undefined;
  readonly ip: string;
  /** Empty if the kubelet has none. */
  readonly explanation: string;
  readonly sinceMs: number | undefined;
  readonly states: readonly ContainerLine[];
}

export interface ContainerLine {
  readonly name: string;
  readonly role: 'init' | 'sidecar' | 'regular' | 'ephemeral';
  readonly image: string;
  readonly state: string;
  readonly tone: Tone;
  readonly sinceMs: number | undefined;
  readonly ready: boolean;
  readonly restarts: number;
  /** Why it waits; empty if it does not. */
  readonly message: string;
  readonly lastEnd: string;
}

/** Ordered by namespace and name. A pod that is terminating may have an explanation only. */
export function podLines(pods: readonly Pod[], explained: readonly ExplainedPod[]): readonly PodLine[] {
  const explanations = new Map(explained.map((each) => [each.uid, each]));
  const listed = pods.map((pod) => podLine(pod, explanations.get(pod.metadata?.uid ?? '')));
  const uids = new Set(pods.map(({ metadata }) => metadata?.uid));
  const others = explained.filter(({ uid }) => !uids.has(uid)).map(explanationLine);
  return [...listed, ...others].sort((a, b) => compare(a.pod, b.pod));
}

/** Code units: the order does not depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function podLine(pod: Pod, explained: ExplainedPod | undefined): PodLine {
  const { namespace = 'default', name = '', uid = '' } = pod.metadata ?? {};
  const { containers, lastRestartMs, ready, restarts, tone, word } = podSummary(pod);
  return {
    pod: `${namespace}/${name}`,
    uid,
    status: word,
    tone,
    ready,
    containers,
    restarts,
    lastRestartMs,
    createdMs: parseTime(pod.metadata?.creationTimestamp ?? pod.status?.startTime),
    ip: pod.status?.podIP ?? '',
    explanation: explained?.explanation ?? '',
    sinceMs: parseTime(explained?.since),
    states: containerLines(pod),
  };
}

function explanationLine({ explanation, name, namespace, since, uid }: ExplainedPod): PodLine {
  return {
    pod: `${namespace}/${name}`,
    uid,
    status: 'Terminating',
    tone: 'busy',
    ready: 0,
    containers: 0,
    restarts: 0,
    lastRestartMs: undefined,
    createdMs: undefined,
    ip: '',
    explanation,
    sinceMs: parseTime(since),
    states: [],
  };
}

const failures = /BackOff|Err|Error|Cannot|Invalid/;

function containerLines({ spec, status }: Pod): readonly ContainerLine[] {
  const statuses = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  const byName = new Map(statuses.map((each) => [each.name, each]));
  const lines = (list: readonly Container[], roleOf: (container: Container) => ContainerLine['role']) =>
    list.map((container) => containerLine(container, roleOf(container), byName.get(container.name)));
  return [
    ...lines(spec?.initContainers ?? [], (each) => (isSidecar(each) ? 'sidecar' : 'init')),
    ...lines(spec?.containers ?? [], () => 'regular'),
    ...lines(spec?.ephemeralContainers ?? [], () => 'ephemeral'),
  ];
}

function containerLine(
  { image, name }: Container,
  role: ContainerLine['role'],
  status: ContainerStatus | undefined,
): ContainerLine {
  const { sinceMs, text, tone } = stateOf(status?.state, status?.ready === true);
  return {
    name,
    role,
    image: image ?? '',
    state: text,
    tone,
    sinceMs,
    ready: status?.ready === true,
    restarts: status?.restartCount ?? 0,
    message: status?.state?.waiting?.message ?? status?.state?.terminated?.message ?? '',
    lastEnd: endText(status?.lastState),
  };
}

function stateOf(
  state: ContainerState | undefined,
  isReady: boolean,
): { readonly text: string; readonly sinceMs: number | undefined; readonly tone: Tone } {
  const { running, terminated, waiting } = state ?? {};
  if (running !== undefined)
    return { text: 'Running', sinceMs: parseTime(running.startedAt), tone: isReady ? 'good' : 'busy' };
  if (terminated !== undefined)
    return {
      text: endText(state),
      sinceMs: parseTime(terminated.finishedAt),
      tone: terminated.exitCode === 0 ? 'done' : 'bad',
    };
  const text = waiting?.reason ?? 'Waiting';
  return { text, sinceMs: undefined, tone: failures.test(text) ? 'bad' : 'busy' };
}

/** As `Error (137)`. */
function endText(state: ContainerState | undefined): string {
  if (state?.terminated === undefined) return '';
  const { exitCode, reason = 'Terminated' } = state.terminated;
  return `${reason} (${exitCode})`;
}
