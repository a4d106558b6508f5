// What the pod workers depend on. Each interface has only the members that are used.

import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { GarbageScope } from '../api/ports/garbage-scope.ts';
import type { ProbeResultsView } from '../api/ports/probe-results.ts';
import type { StartStages } from '../api/ports/start-stages.ts';
import type { StartedPod } from '../api/ports/started-pod.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Tracer } from '../base/tracer.ts';
import type { PodKills } from './pod-kills.ts';
import type { PodLifecycles } from './pod-lifecycles.ts';
import type { PodsInSync } from './pods-in-sync.ts';

export interface DesiredPod {
  readonly uid: PodUid;
  readonly pod: Pod;
  /** Order of first arrival; lower starts first. */
  readonly order: number;
  /** API pods may share their name with a pod that is still terminating. */
  readonly source?: string;
}

interface WorkerDesired {
  get(uid: PodUid): DesiredPod | undefined;
  all(): readonly DesiredPod[];
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
  isInspected(uid: PodUid): boolean;
  /**
   * Inspects the pod now. `rereadRunning`: reads running containers even if the runtime's list shows no change. `started`: all
   * that the runtime has of a pod that was just started, so that nothing is listed.
   */
  refresh(
    uid: PodUid,
    signal: AbortSignal,
    options?: { readonly rereadRunning?: boolean | undefined; readonly started?: StartedPod | undefined },
  ): Promise<ObservedPod | undefined>;
  readonly answered: Subscribable<void>;
}

/** The outcome of one sync. */
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
    /** Called when a sandbox was created, before its containers are. */
    readonly onSandboxReady: () => void;
    /** Called before containers are stopped in order to be started again by the same sync. */
    readonly onReplacing: (names: readonly string[]) => void;
    readonly signal: AbortSignal;
  }): Promise<WorkerSync>;
  stopPod(
    pod: Pod | undefined,
    seen: ObservedPod | undefined,
    graceSeconds: number | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<void>;
  /** Releases the volumes and the cgroup of a stopped pod. */
  cleanPod(uid: PodUid, signal: AbortSignal): Promise<void>;
  /** All observed pods with dead containers or sandboxes to remove. */
  podsWithGarbage(scopeOf: (pod: ObservedPod) => GarbageScope): readonly PodUid[];
  /** `scopeOf` is called with other pods too if they count. True when there was any garbage. */
  collectGarbage(
    seen: ObservedPod,
    scopeOf: (pod: ObservedPod) => GarbageScope,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** False: the runtime refuses to remove an exited container; the removal is retried later. */
  removePod(
    pod: { readonly uid: PodUid; readonly namespace: string; readonly name: string },
    seen: ObservedPod | undefined,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Whether all containers have terminated and none will be restarted. */
  isPodTerminal(pod: Pod, seen: ObservedPod | undefined): boolean;
}

export interface PodRefusal {
  readonly reason: string;
  readonly message: string;
}

/** Whether a pod may run on this node. */
interface WorkerPolicy {
  /** Called in every run of the worker; depends on the spec alone. */
  refusePod(pod: Pod): PodRefusal | undefined;
  /**
   * Called once per pod and process, before the pod first starts, for one pod at a time: whether the node has room for it. May
   * kill other pods and wait for them (PodKills). A refusal is final.
   */
  admit?(pod: Pod, signal: AbortSignal): Promise<PodRefusal | undefined>;
  /** Why a pod that was not admitted yet has to wait. `untilMs`: the pod is admitted or refused then, by the wall clock. */
  waitsFor?(pod: Pod): PodWait | undefined;
  /**
   * Called after the admission, beside the admissions of other pods: has the device plugins allocate what the admission
   * reserved. Repeated until it has succeeded once in this process. A refusal is final.
   */
  prepare?(pod: Pod, signal: AbortSignal): Promise<PodRefusal | undefined>;
}

/** Reported as the waiting reason of each container. */
interface PodWait {
  readonly reason: string;
  readonly message: string;
  readonly untilMs: number;
}

/** Updates the resize conditions of a pod. */
interface WorkerResizes {
  check(uid: PodUid): void;
  failed(uid: PodUid, message: string): void;
}

/** The stores that a worker reads; it is the sole writer of `lifecycles` and `inSync`. */
export interface WorkerStores {
  readonly desired: WorkerDesired;
  /** The API server's pods, with the statuses that it has stored. */
  readonly apiPods: { get(uid: PodUid): Pod | undefined };
  readonly observed: WorkerObserved;
  readonly lifecycles: PodLifecycles;
  /** Kills that other components requested; the worker settles them. */
  readonly kills: PodKills;
  readonly inSync: PodsInSync;
  /** A changed result may require a restart of the container. */
  readonly probes: Pick<ProbeResultsView, 'changed'>;
  /** Announces that a postStart hook has succeeded, so that the next container may start. */
  readonly unfinishedHooks: { readonly changed: Subscribable<PodUid> };
  /** Announces that a mount that failed or was pending may be retried. */
  readonly volumes: { readonly wake: Subscribable<PodUid> };
  /** Announces that `waitsFor` may have changed for a pod. */
  readonly devices: { readonly wake: Subscribable<PodUid> };
}

/** Where outcomes are reported. */
interface WorkerReports {
  readonly events: EventSink;
  readonly metrics?:
    | {
        step(operation: string, seconds: number): void;
        orphan(): void;
        restarted(isStatic: boolean): void;
        rejected(reason: string): void;
      }
    | undefined;
  readonly stages?: StartStages | undefined;
  readonly log: Logger;
  readonly tracer?: Tracer | undefined;
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
