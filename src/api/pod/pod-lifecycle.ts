// The state of a pod's worker, read by status, server and housekeeping. workers/ is the only writer.
// Upstream: pkg/kubelet/pod_workers.go keeps this as a dozen booleans; here it is one tagged union.
import type { PodKill } from '../ports/pod-kill.ts';

/** `state.waiting` of a container's status. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
  /** Time of the next retry, by the wall clock. */
  readonly untilMs?: number;
}

export type PodLifecycle =
  | {
      readonly state: 'syncing';
      /** When this kubelet first synced the pod; becomes status.startTime. */
      readonly startedAtMs: number;
      /** By container name: why the last start attempt failed. Cleared on success. */
      readonly waiting: Readonly<Record<string, WaitingReason>>;
      /** The sync in progress has created the pod's sandbox, which no inspection has seen yet. */
      readonly sandboxReady?: boolean;
      /** Names of the containers that the sync in progress stops in order to start them again. */
      readonly replacing?: readonly string[];
      /** What the worker is waiting for, as a sentence, and since when. */
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
      /** Set if the kubelet itself terminates the pod: eviction, preemption, active deadline. */
      readonly kill?: PodKill;
    }
  | {
      readonly state: 'terminated';
      readonly startedAtMs: number;
      readonly atMs: number;
      readonly kill?: PodKill;
      /** Containers stopped and volumes unmounted: the API object can be deleted. */
      readonly cleaned: boolean;
    }
  | {
      /** Admission rejected it: reported as Failed with this reason, never started. */
      readonly state: 'rejected';
      readonly startedAtMs: number;
      readonly reason: string;
      readonly message: string;
    };
