// Computes a pod worker's next state and step from the desired and the observed pod. Pure: no clock, no I/O, no log.
// Upstream: pkg/kubelet/pod_workers.go, whose dozen booleans are one state here.
// Invariants: nothing is stopped before every source has reported and the pod was inspected; termination is never reverted; a
// grace period only gets shorter; a removed pod terminates completely before a pod of the same name or UID starts.
import type { Pod } from '../api/k8s/types.ts';
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';

/** How a pod terminates, and why. */
export interface Termination {
  /** No source has the pod any more, so everything of it is removed. False: its containers stay, so that they can be inspected. */
  readonly removal: boolean;
  /** Undefined: the spec is lost, and the grace period recorded on the containers applies. */
  readonly graceSeconds: number | undefined;
  readonly kill: PodKill | undefined;
  readonly why: string;
}

interface Rejection {
  readonly reason: string;
  readonly message: string;
  /** The pod was not admitted and never will be. False: its manifest may be fixed under the same UID. */
  readonly final: boolean;
}

export type WorkerState =
  | { readonly state: 'new' }
  | ({ readonly state: 'rejected' } & Rejection)
  | { readonly state: 'syncing' }
  | ({ readonly state: 'terminating' } & Termination)
  /** Nothing of the pod runs; its volumes and cgroup have to be released. */
  | ({ readonly state: 'terminated' } & Termination)
  /** Released; the pod stays as it is until its source removes it. */
  | ({ readonly state: 'finished' } & Termination);

type Step =
  | { readonly step: 'wait'; readonly explain: string }
  | { readonly step: 'reject' }
  | { readonly step: 'sync' }
  | { readonly step: 'stop' }
  | { readonly step: 'clean' }
  | { readonly step: 'remove' }
  /** The manifest was restored: volumes and cgroup are released, then the pod starts again beside its old containers. */
  | { readonly step: 'restart' }
  | { readonly step: 'idle' }
  | { readonly step: 'forget' };

export interface Transition {
  readonly next: WorkerState;
  readonly step: Step;
}

export interface TransitionInput {
  readonly worker: WorkerState;
  readonly desired: Pod | undefined;
  /** The source removed the pod and added it again since the worker started on it. */
  readonly isRecreated: boolean;
  /** The last spec that a source had. */
  readonly lastPod: Pod | undefined;
  readonly seen: ObservedPod | undefined;
  /** False until this process has inspected the pod, or knows that the runtime does not have it. */
  readonly isInspected: boolean;
  readonly sourcesReady: boolean;
  /** The runtime does not have the pod, but files or cgroups of it are left on the node. */
  readonly isLeftover: boolean;
  /** Another pod of the same name that has to be removed first. */
  readonly sameNamePod: string | undefined;
  readonly refusal: { readonly reason: string; readonly message: string } | undefined;
  /** All containers have terminated and none will be restarted. */
  readonly isTerminal: boolean;
  /** Set by eviction, preemption or an exceeded deadline. */
  readonly kill: PodKill | undefined;
}

const idle: Step = { step: 'idle' };

export function computeTransition(input: TransitionInput): Transition {
  const { worker } = input;
  if (!input.isInspected) return wait(worker, 'waiting for the first inspection of the pod on the runtime');
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
      return continueTermination(input, worker, worker.state === 'finished');
  }
}

/** The shortest grace period that was requested; without a request, the pod's own. */
export function computeGraceSeconds(
  before: number | undefined,
  pod: Pod | undefined,
  kill: PodKill | undefined,
): number | undefined {
  const requested = [before, pod?.metadata?.deletionGracePeriodSeconds, kill?.graceSeconds].filter(
    (each) => each !== undefined,
  );
  const seconds = requested.length === 0 ? pod?.spec?.terminationGracePeriodSeconds : Math.min(...requested);
  return seconds === undefined ? undefined : Math.max(seconds, 1);
}

function wait(next: WorkerState, explain: string): Transition {
  return { next, step: { step: 'wait', explain } };
}

function fromNew(input: TransitionInput): Transition {
  if (input.desired === undefined) return fromUndesired(input);
  const why = terminationReason(input);
  if (why !== undefined) return beginTermination(input, why, false);
  if (input.refusal !== undefined) return reject(input.refusal);
  if (input.sameNamePod !== undefined) {
    const explain = `waiting for the earlier pod of the same name to terminate (${input.sameNamePod})`;
    return wait({ state: 'new' }, explain);
  }
  return terminateOrSync(input);
}

/** On the runtime but in no source: a pod of a previous kubelet, or of a source that has not reported yet. */
function fromUndesired(input: TransitionInput): Transition {
  if (input.seen === undefined && !(input.isLeftover && input.sourcesReady)) {
    return { next: { state: 'new' }, step: { step: 'forget' } };
  }
  if (!input.sourcesReady) return wait({ state: 'new' }, 'waiting for every pod source to report');
  return beginTermination(input, 'no source has this pod any more', true);
}

function fromSyncing(input: TransitionInput): Transition {
  const removed = removalReason(input);
  if (removed !== undefined) return beginTermination(input, removed, true);
  const why = terminationReason(input);
  if (why !== undefined) return beginTermination(input, why, false);
  if (input.refusal !== undefined) return reject(input.refusal);
  return terminateOrSync(input);
}

function removalReason({ desired, isRecreated }: TransitionInput): string | undefined {
  if (desired === undefined) return 'the pod was removed from its source';
  return isRecreated ? 'the pod was removed from its source and added again' : undefined;
}

/** The manifest may have been fixed under the same UID, and containers that ran before the rejection have to be stopped. */
function fromRejected(
  input: TransitionInput,
  worker: Extract<WorkerState, { state: 'rejected' }>,
): Transition {
  const removed = removalReason(input);
  if (removed !== undefined) return beginTermination(input, removed, true);
  if (input.desired?.metadata?.deletionTimestamp !== undefined) {
    return beginTermination(input, 'the pod was deleted', false);
  }
  if (!worker.final && input.refusal === undefined) return fromNew(input);
  if (isDown(input.seen)) return { next: worker, step: idle };
  return reject(input.refusal ?? worker, worker.final);
}

/** Why a pod that its source still has must terminate; undefined: it need not. */
function terminationReason({ desired, kill }: TransitionInput): string | undefined {
  if (desired?.metadata?.deletionTimestamp !== undefined) return 'the pod was deleted';
  if (kill !== undefined) return `${kill.reason}: ${kill.message}`;
  const phase = desired?.status?.phase;
  return phase === 'Succeeded' || phase === 'Failed' ? `the pod's phase is ${phase} already` : undefined;
}

function reject({ reason, message }: Omit<Rejection, 'final'>, final = false): Transition {
  return { next: { state: 'rejected', reason, message, final }, step: { step: 'reject' } };
}

function terminateOrSync(input: TransitionInput): Transition {
  if (!input.isTerminal) return { next: { state: 'syncing' }, step: { step: 'sync' } };
  return beginTermination(input, 'all containers have terminated and none will be restarted', false);
}

function beginTermination(input: TransitionInput, why: string, removal: boolean): Transition {
  const { kill, lastPod } = input;
  const graceSeconds = computeGraceSeconds(undefined, input.desired ?? lastPod, kill);
  return continueTermination(input, { removal, graceSeconds, kill, why }, false);
}

function continueTermination(input: TransitionInput, before: Termination, isReleased: boolean): Transition {
  const { desired, lastPod, seen } = input;
  const kill = before.kill ?? (isReleased ? undefined : input.kill);
  const termination: Termination = {
    // A terminated pod may still be removed from its source. A removed pod terminates even if its source adds it again.
    removal: before.removal || removalReason(input) !== undefined,
    graceSeconds: computeGraceSeconds(before.graceSeconds, desired ?? lastPod, kill),
    kill,
    why: before.why,
  };
  if (!isDown(seen)) return { next: { state: 'terminating', ...termination }, step: { step: 'stop' } };
  if (termination.removal)
    return { next: { state: 'terminated', ...termination }, step: removeOrRestart(input, termination) };
  if (isReleased) return { next: { state: 'finished', ...termination }, step: idle };
  return { next: { state: 'terminated', ...termination }, step: { step: 'clean' } };
}

/**
 * A restored pod keeps its exited containers, so that restart counts and logs continue.
 * differs from upstream: a pod whose restart policy or kill would keep it terminated starts from nothing; there it stays so.
 */
function removeOrRestart({ desired, isTerminal, seen }: TransitionInput, { kill }: Termination): Step {
  const restarts = desired !== undefined && seen !== undefined && !isTerminal && kill === undefined;
  return { step: restarts ? 'restart' : 'remove' };
}
