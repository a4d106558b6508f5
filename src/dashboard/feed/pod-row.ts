// A row of the table of pods. Pure.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import { podSummary } from '../../api/pod/pod-status-word.ts';
import type { PodRow } from '../../api/ports/node-page.ts';
import { boundText } from './event-stream.ts';

interface RowInput {
  readonly uid: PodUid;
  /** As its source has it, or had it before it was removed. Undefined: only the runtime knows the pod. */
  readonly pod: Pod | undefined;
  readonly name: { readonly namespace: string; readonly name: string };
  /** Whether its source has removed it. */
  readonly isRemoved: boolean;
  readonly status: PodStatus | undefined;
  readonly lifecycle: PodLifecycle | undefined;
  readonly sentence: { readonly text: string; readonly sinceMs?: number };
}

const sourceAnnotation = 'kubernetes.io/config.source';
const nameLength = 253;
const sentenceLength = 2_048;
const wordLength = 253;

export function podRow(input: RowInput): PodRow {
  const { lifecycle, name, sentence, uid } = input;
  const pod: Pod = input.pod ?? { metadata: name };
  const status = input.status ?? pod.status ?? {};
  const words = podSummary(pod, { status, isEnding: isEnding(input) });
  return {
    uid,
    namespace: boundText(pod.metadata?.namespace ?? name.namespace, nameLength),
    name: boundText(pod.metadata?.name ?? name.name, nameLength),
    status: boundText(words.word, wordLength),
    tone: lifecycle?.state === 'rejected' ? 'bad' : words.tone,
    sentence: boundText(sentence.text, sentenceLength),
    sinceMs: sentence.sinceMs,
    ready: words.ready,
    containers: words.containers,
    restarts: words.restarts,
    lastRestartMs: words.lastRestartMs,
    createdMs: timeOf(pod.metadata?.creationTimestamp ?? status.startTime ?? ''),
    ip: boundText(status.podIP ?? '', nameLength),
    source: boundText(pod.metadata?.annotations?.[sourceAnnotation] ?? '', nameLength),
  };
}

/** A pod that the kubelet itself ends, for example by eviction, keeps that reason. */
function isEnding({ isRemoved, lifecycle }: RowInput): boolean {
  if (isRemoved) return true;
  return lifecycle?.state === 'terminating' && lifecycle.kill === undefined;
}

/** Undefined for an empty or malformed time. */
export function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
