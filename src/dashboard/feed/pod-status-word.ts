// The columns STATUS, READY and RESTARTS of a row, and what a reader should make of them. Pure.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { type PodSummary, podSummary } from '../../api/pod/pod-status-word.ts';
import type { PodRow } from '../../api/ports/node-page.ts';

/** `isEnding`: the kubelet terminates the pod, although its API object may not be deleted: a static pod never is. */
export function statusWords(pod: Pod, status: PodStatus, isEnding: boolean): PodSummary {
  const summary = podSummary({ ...pod, status });
  const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
  // differs from upstream: an ended static pod has no deletionTimestamp.
  return isEnding && !isOver ? { ...summary, word: 'Terminating' } : summary;
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
export function toneOf({ containers, ready, word }: PodSummary, phase: string | undefined): PodRow['tone'] {
  if (word === 'Running' && ready >= containers) return 'good';
  if (phase === 'Succeeded') return 'done';
  if (phase === 'Failed') return 'bad';
  return busyWords.has(word) || /^Init:\d{1,9}\/\d{1,9}$/.test(word) ? 'busy' : 'bad';
}
