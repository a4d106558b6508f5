// The pod worker's state as data, read by status, server and housekeeping. Written by workers only.
// Upstream: pkg/kubelet/pod_workers.go keeps this as a dozen booleans; here it is one tagged union.
import type { PodKill } from '../ports/pod-kill.ts';

/** Why a container is not running, as its status shows it (`state.waiting`). */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
  /** When it is tried again although nothing changes, by the wall clock. */
  readonly untilMs?: number;
}

export type PodLifecycle =
  | {
      readonly state: 'syncing';
      /** When this kubelet first worked on the pod; becomes status.startTime. */
      readonly startedAtMs: number;
      /** By container name: what the last start attempt stumbled over. Cleared by success. */
      readonly waiting: Readonly<Record<string, WaitingReason>>;
      /** What the worker waits for now, in one sentence, and since when. */
      readonly explain: string;
      readonly explainSinceMs: number;
    }
  | {
      readonly state: 'terminating';
      readonly startedAtMs: number;
      readonly graceSeconds: number;
      readonly sinceMs: number;
      readonly why: string;
      readonly explain: string;
      /** Set when it ends although its source still wants it: eviction, preemption, a deadline. */
      readonly kill?: PodKill;
    }
  | {
      readonly state: 'terminated';
      readonly startedAtMs: number;
      readonly atMs: number;
      readonly kill?: PodKill;
      /** Containers stopped and volumes unmounted: nothing is left that the pod's API object has to wait for. */
      readonly cleaned: boolean;
    }
  | {
      /** Admission refused it: reported as Failed with this reason, never started. */
      readonly state: 'rejected';
      readonly startedAtMs: number;
      readonly reason: string;
      readonly message: string;
    };
