// Decides a pod worker's next step from what is wanted, what is seen and where it stood. Pure: no clock, no I/O, no log.
// Upstream: pkg/kubelet/pod_workers.go, whose booleans are one state here. Invariants: nothing is stopped before every source
// has spoken and the runtime was seen; a pod that was removed ends completely before a pod of its name or UID starts.
import type { Pod } from '../api/k8s.ts';
import { isDown, type ObservedPod } from '../api/observed.ts';

/** What a worker remembers of a pod between two runs. `removal`: it ends because nobody wants it, not because it is done. */
export type WorkerState =
  | { readonly state: 'new' }
  | { readonly state: 'syncing' }
  | { readonly state: 'rejected' }
  | { readonly state: 'terminating'; readonly removal: boolean }
  | { readonly state: 'terminated' };

export type Step =
  | { readonly step: 'wait'; readonly explain: string }
  | { readonly step: 'reject'; readonly reason: string; readonly message: string }
  | { readonly step: 'sync' }
  | { readonly step: 'terminate'; readonly removal: boolean; readonly why: string }
  /** It has ended for good and stays as it is, as long as it is wanted. */
  | { readonly step: 'finish' }
  | { readonly step: 'remove' }
  | { readonly step: 'rest' }
  | { readonly step: 'forget' };

export interface StepInput {
  readonly worker: WorkerState;
  readonly desired: Pod | undefined;
  readonly seen: ObservedPod | undefined;
  /** Whether `seen` is what this life saw, even if it is nothing. */
  readonly isSeen: boolean;
  readonly sourcesReady: boolean;
  /** Another pod of the same name that has to go first. */
  readonly rival: string | undefined;
  readonly refusal: { readonly reason: string; readonly message: string } | undefined;
  /** All containers ended and none will be started again. */
  readonly endedForGood: boolean;
}

export function computeStep(input: StepInput): Step {
  if (!input.isSeen) return { step: 'wait', explain: 'waiting for the container runtime to say what runs' };
  switch (input.worker.state) {
    case 'new':
      return input.desired === undefined ? stepForUnknown(input) : stepForNew(input);
    case 'syncing':
      return stepForSyncing(input);
    case 'rejected':
      return stepForRejected(input);
    case 'terminating':
      return stepForTerminating(input, input.worker.removal);
    case 'terminated':
      return input.desired === undefined ? stepForTerminating(input, true) : { step: 'rest' };
  }
}

/** Seen on the runtime, wanted by nobody: a pod of an earlier life, or of a source that is still silent. */
function stepForUnknown(input: StepInput): Step {
  if (input.seen === undefined) return { step: 'forget' };
  if (!input.sourcesReady) return { step: 'wait', explain: 'waiting for every pod source to report' };
  return { step: 'terminate', removal: true, why: 'no source wants this pod any more' };
}

function stepForNew(input: StepInput): Step {
  if (input.refusal !== undefined) return { step: 'reject', ...input.refusal };
  if (input.rival !== undefined) {
    return { step: 'wait', explain: `waiting for the earlier pod of this name to end (${input.rival})` };
  }
  return endOrSync(input);
}

function stepForSyncing(input: StepInput): Step {
  if (input.desired === undefined)
    return { step: 'terminate', removal: true, why: 'the pod was removed from its source' };
  if (input.refusal !== undefined) return { step: 'reject', ...input.refusal };
  return endOrSync(input);
}

/** Its manifest may have been mended under the same UID; and what ran before it was refused has to be down. */
function stepForRejected(input: StepInput): Step {
  if (input.desired === undefined) return stepForTerminating(input, true);
  if (input.refusal === undefined) return stepForNew(input);
  return isDown(input.seen) ? { step: 'rest' } : { step: 'reject', ...input.refusal };
}

function endOrSync(input: StepInput): Step {
  if (!input.endedForGood) return { step: 'sync' };
  return { step: 'terminate', removal: false, why: 'all containers have ended for good' };
}

function stepForTerminating(input: StepInput, removal: boolean): Step {
  // A pod that had ended by itself may lose its source meanwhile; one that was removed ends even if it comes back.
  const removed = removal || input.desired === undefined;
  if (!isDown(input.seen)) return { step: 'terminate', removal: removed, why: 'the pod is ending' };
  return removed ? { step: 'remove' } : { step: 'finish' };
}
