// What the pod workers need of others, each as narrow as it is used.

import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { ProbeResultsView } from '../api/ports/probe-results.ts';
import type { StartedPod } from '../api/ports/started-pod.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { PodLifecycles } from './pod-lifecycles.ts';

export interface WantedPod {
  readonly uid: PodUid;
  readonly pod: Pod;
  /** Order of first arrival; lower starts first. */
  readonly order: number;
  /** Pods of the API server may share their name with one that still ends. */
  readonly source?: string;
}

interface WorkerDesired {
  get(uid: PodUid): WantedPod | undefined;
  all(): readonly WantedPod[];
  sourcesReady(): boolean;
  readonly changed: Subscribable<PodUid>;
  readonly ready: Subscribable<void>;
}

interface WorkerObserved {
  get(uid: PodUid): ObservedPod | undefined;
  all(): ReadonlyMap<PodUid, ObservedPod>;
  readonly changed: Subscribable<PodUid>;
}

interface WorkerPleg {
  isSeen(uid: PodUid): boolean;
  /** `anew`: also what is not known to have changed. `started`: all there is of a pod that was started just now. */
  refresh(
    uid: PodUid,
    signal: AbortSignal,
    options?: { readonly anew?: boolean | undefined; readonly started?: StartedPod | undefined },
  ): Promise<ObservedPod | undefined>;
  readonly answered: Subscribable<void>;
}

/** What one sync came to. */
export interface WorkerSync {
  readonly acted: boolean;
  readonly started?: StartedPod | undefined;
  readonly resized?: boolean;
  readonly resizeFailure?: string | undefined;
  readonly waiting: Readonly<Record<string, WaitingReason>>;
  readonly retryInMs: number | undefined;
  readonly failure: unknown;
}

interface WorkerRuntime {
  sync(request: {
    readonly pod: Pod;
    readonly seen: ObservedPod | undefined;
    readonly order: number;
    readonly signal: AbortSignal;
  }): Promise<WorkerSync>;
  stopPod(
    pod: Pod | undefined,
    seen: ObservedPod | undefined,
    graceSeconds: number | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<void>;
  /** Takes back what a pod that has ended still holds on the node: its volumes. */
  cleanPod(uid: PodUid, signal: AbortSignal): Promise<void>;
  collectGarbage(seen: ObservedPod, signal: AbortSignal): Promise<boolean>;
  /** False: the runtime does not let go of something that has ended; asked again later. */
  removePod(
    pod: { readonly uid: PodUid; readonly namespace: string; readonly name: string },
    seen: ObservedPod | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Whether all containers have ended and none will be started again. */
  hasEndedForGood(pod: Pod, seen: ObservedPod | undefined): boolean;
}

export interface PodRefusal {
  readonly reason: string;
  readonly message: string;
}

/** What the spec says about a pod, decided elsewhere. */
interface WorkerPolicy {
  /** Asked again whenever the pod is looked at: what it may say depends on the spec alone. */
  refusePod(pod: Pod): PodRefusal | undefined;
  /**
   * Asked once per life, before a pod first starts, one pod at a time: whether the node has room. May end other pods and
   * wait for them (workers.kill). A refusal is final.
   */
  admit?(pod: Pod, signal: AbortSignal): Promise<PodRefusal | undefined>;
}

/** Whether running containers have what the pod was allocated, and who is to know. */
export interface WorkerResizes {
  check(uid: PodUid): void;
  failed(uid: PodUid, message: string): void;
}

/** The stores that a worker reads; it is the sole writer of `lifecycles`. */
export interface WorkerStores {
  readonly desired: WorkerDesired;
  readonly observed: WorkerObserved;
  readonly lifecycles: PodLifecycles;
  /** A changed result may require a restart of the container. */
  readonly probes: Pick<ProbeResultsView, 'changed'>;
  /** Announces that a postStart hook has succeeded, so that the next container may start. */
  readonly unfinishedHooks: { readonly changed: Subscribable<PodUid> };
  /** Announces that a mount that failed or was pending may be retried. */
  readonly volumes: { readonly wake: Subscribable<PodUid> };
}

/** Where outcomes are reported. */
export interface WorkerReports {
  readonly events: EventSink;
  readonly metrics?:
    | {
        step(operation: string, seconds: number): void;
        orphan(): void;
        rejected(reason: string): void;
      }
    | undefined;
  readonly log: Logger;
}

export interface PodWorkersDeps {
  readonly stores: WorkerStores;
  readonly pleg: WorkerPleg;
  readonly runtime: WorkerRuntime;
  readonly policy: WorkerPolicy;
  readonly resizes?: WorkerResizes | undefined;
  readonly report: WorkerReports;
  readonly settings: { readonly syncFrequencyMs: number };
  readonly clock: Clock;
}
