// Where a pod's worker goes from where it stands, by what is wanted and what is seen, and what it does there.
// Pure: no clock, no I/O, no log. Upstream: pkg/kubelet/pod_workers.go, whose dozen booleans are one state here.
// Invariants: nothing is stopped before every source has spoken and the runtime was seen; a pod never leaves its way towards
// the end; a grace period only gets shorter; a pod that was removed ends completely before one of its name or UID starts.
import type { Pod } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';

/** How a pod ends, and why. */
export interface Ending {
  /** Nobody wants it any more, so everything of it goes; false: it stays to be looked at. */
  readonly removal: boolean;
  /** Undefined: nobody knows its spec; what is written on its containers holds. */
  readonly graceSeconds: number | undefined;
  readonly kill: PodKill | undefined;
  readonly why: string;
}

interface Rejection {
  readonly reason: string;
  readonly message: string;
  /** It was not admitted, and will not be; otherwise its manifest may be mended under its UID. */
  readonly final: boolean;
}

export type WorkerState =
  | { readonly state: 'new' }
  | ({ readonly state: 'rejected' } & Rejection)
  | { readonly state: 'syncing' }
  | ({ readonly state: 'terminating' } & Ending)
  /** Nothing of it runs; what it holds on the node has to be given back. */
  | ({ readonly state: 'terminated' } & Ending)
  /** Given back; it stays as it is as long as it is wanted. */
  | ({ readonly state: 'finished' } & Ending);

type Step =
  | { readonly step: 'wait'; readonly explain: string }
  | { readonly step: 'reject' }
  | { readonly step: 'sync' }
  | { readonly step: 'stop' }
  | { readonly step: 'clean' }
  | { readonly step: 'remove' }
  /** Its manifest came back: what it holds on the node is given back, then it starts again beside its old containers. */
  | { readonly step: 'restart' }
  | { readonly step: 'rest' }
  | { readonly step: 'forget' };

export interface Transition {
  readonly next: WorkerState;
  readonly step: Step;
}

export interface TransitionInput {
  readonly worker: WorkerState;
  readonly desired: Pod | undefined;
  /** The pod was removed from its source since the worker took it up, and the source has it again. */
  readonly isRecreated: boolean;
  /** The last spec that was wanted. */
  readonly lastPod: Pod | undefined;
  readonly seen: ObservedPod | undefined;
  /** Whether `seen` is what this life saw, even if it is nothing. */
  readonly isSeen: boolean;
  readonly sourcesReady: boolean;
  /** Nothing runs, but something of it lies on the disk. */
  readonly isLeftOver: boolean;
  /** Another pod of the same name that has to go first. */
  readonly sameNamePod: string | undefined;
  readonly refusal: { readonly reason: string; readonly message: string } | undefined;
  /** All containers ended and none will be started again. */
  readonly endedForGood: boolean;
  /** Somebody in this kubelet wants it to end: eviction, preemption, a deadline. */
  readonly kill: PodKill | undefined;
}

const rest: Step = { step: 'rest' };

export function computeTransition(input: TransitionInput): Transition {
  const { worker } = input;
  if (!input.isSeen) return wait(worker, 'waiting for the container runtime to say what runs');
  switch (worker.state) {
    case 'new':
      return fromNew(input);
    case 'syncing':
      return fromSyncing(input);
    case 'rejected':
      return fromRejected(input, worker);
    case 'terminating':
    case 'terminated':
    case 'finished':
      return towardsTheEnd(input, worker, worker.state === 'finished');
  }
}

/** The grace period that holds: the shortest anybody asked for, else the pod's own. */
export function computeGraceSeconds(
  before: number | undefined,
  pod: Pod | undefined,
  kill: PodKill | undefined,
): number | undefined {
  const asked = [before, pod?.metadata?.deletionGracePeriodSeconds, kill?.graceSeconds].filter(
    (each) => each !== undefined,
  );
  const seconds = asked.length === 0 ? pod?.spec?.terminationGracePeriodSeconds : Math.min(...asked);
  return seconds === undefined ? undefined : Math.max(seconds, 1);
}

function wait(next: WorkerState, explain: string): Transition {
  return { next, step: { step: 'wait', explain } };
}

function fromNew(input: TransitionInput): Transition {
  if (input.desired === undefined) return fromUnknown(input);
  const end = whyItEnds(input);
  if (end !== undefined) return begin(input, end, false);
  if (input.refusal !== undefined) return reject(input.refusal);
  if (input.sameNamePod !== undefined) {
    return wait({ state: 'new' }, `waiting for the earlier pod of this name to end (${input.sameNamePod})`);
  }
  return endOrSync(input);
}

/** Seen on the runtime, wanted by nobody: a pod of an earlier life, or of a source that is still silent. */
function fromUnknown(input: TransitionInput): Transition {
  if (input.seen === undefined && !(input.isLeftOver && input.sourcesReady)) {
    return { next: { state: 'new' }, step: { step: 'forget' } };
  }
  if (!input.sourcesReady) return wait({ state: 'new' }, 'waiting for every pod source to report');
  return begin(input, 'no source wants this pod any more', true);
}

function fromSyncing(input: TransitionInput): Transition {
  const removed = whyRemoved(input);
  if (removed !== undefined) return begin(input, removed, true);
  const end = whyItEnds(input);
  if (end !== undefined) return begin(input, end, false);
  if (input.refusal !== undefined) return reject(input.refusal);
  return endOrSync(input);
}

function whyRemoved({ desired, isRecreated }: TransitionInput): string | undefined {
  if (desired === undefined) return 'the pod was removed from its source';
  return isRecreated ? 'the pod was removed from its source and added again' : undefined;
}

/** Its manifest may have been mended under the same UID; and what ran before it was refused has to be down. */
function fromRejected(
  input: TransitionInput,
  worker: Extract<WorkerState, { state: 'rejected' }>,
): Transition {
  const removed = whyRemoved(input);
  if (removed !== undefined) return begin(input, removed, true);
  if (input.desired?.metadata?.deletionTimestamp !== undefined) {
    return begin(input, 'the pod was deleted', false);
  }
  if (!worker.final && input.refusal === undefined) return fromNew(input);
  if (isDown(input.seen)) return { next: worker, step: rest };
  return reject(input.refusal ?? worker, worker.final);
}

/** Why a pod that is still wanted has to end, if it has to. */
function whyItEnds({ desired, kill }: TransitionInput): string | undefined {
  if (desired?.metadata?.deletionTimestamp !== undefined) return 'the pod was deleted';
  if (kill !== undefined) return `${kill.reason}: ${kill.message}`;
  const phase = desired?.status?.phase;
  return isTerminalPhase(phase) ? `the pod's phase is ${phase} already` : undefined;
}

function reject({ reason, message }: Omit<Rejection, 'final'>, final = false): Transition {
  return { next: { state: 'rejected', reason, message, final }, step: { step: 'reject' } };
}

function endOrSync(input: TransitionInput): Transition {
  if (!input.endedForGood) return { next: { state: 'syncing' }, step: { step: 'sync' } };
  return begin(input, 'all containers have ended for good', false);
}

function begin(input: TransitionInput, why: string, removal: boolean): Transition {
  const { kill, lastPod } = input;
  const graceSeconds = computeGraceSeconds(undefined, input.desired ?? lastPod, kill);
  return towardsTheEnd(input, { removal, graceSeconds, kill, why }, false);
}

function towardsTheEnd(input: TransitionInput, before: Ending, cleaned: boolean): Transition {
  const { desired, lastPod, seen } = input;
  const kill = before.kill ?? (cleaned ? undefined : input.kill);
  const ending: Ending = {
    // A pod that had ended by itself may lose its source meanwhile; one that was removed ends even if it comes back.
    removal: before.removal || whyRemoved(input) !== undefined,
    graceSeconds: computeGraceSeconds(before.graceSeconds, desired ?? lastPod, kill),
    kill,
    why: before.why,
  };
  if (!isDown(seen)) return { next: { state: 'terminating', ...ending }, step: { step: 'stop' } };
  if (ending.removal)
    return { next: { state: 'terminated', ...ending }, step: removeOrRestart(input, ending) };
  if (cleaned) return { next: { state: 'finished', ...ending }, step: rest };
  return { next: { state: 'terminated', ...ending }, step: { step: 'clean' } };
}

/**
 * A pod that came back keeps its ended containers, so that restart counts and logs go on.
 * differs from upstream: a pod that its restart policy or a kill would keep down starts from nothing; there it stays ended.
 */
function removeOrRestart({ desired, endedForGood, seen }: TransitionInput, { kill }: Ending): Step {
  const goesOn = desired !== undefined && seen !== undefined && !endedForGood && kill === undefined;
  return { step: goesOn ? 'restart' : 'remove' };
}
