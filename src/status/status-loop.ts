// Keeps PodStatuses true: woken for a pod, it reads what is wanted, what was seen and where the worker stands, generates
// the status and publishes it when it differs. Upstream: pkg/kubelet/status/status_manager.go, without the API calls.
// Owns PodStatuses (sole writer). Invariants: only real changes are announced; nothing is said of a pod before it was
// looked at; a pod nobody wants and nobody works on has no status; a container that ended for good never seems alive again.
import { isDeepStrictEqual } from 'node:util';
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod, PodStatus, ResourceRequirements } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { type ObservedPod, startWasCut } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../api/pod/pod-ref.ts';
import { isStaticPod } from '../api/ports/pod-source.ts';
import type { ResizeConditions } from '../api/ports/resize-conditions.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { ProbeView } from './container-status.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';
import type { PodStatuses } from './pod-statuses.ts';
import { illegalTransition } from './push/illegal-transition.ts';
import { startFromReported, withReportedTimes } from './reported-times.ts';
import { defaultStatusGates, type StatusGates } from './status-gates.ts';

/** What the node as a whole contributes to every status. */
export interface StatusNode {
  /** Primary first; empty when there is no API server to tell them to. */
  hostIPs(): readonly string[];
  /** As the runtime calls itself, for container IDs. */
  runtimeName(): string;
  supportsRecursiveReadOnly?(pod: Pod): boolean;
}

/** What is known of resizes, and what containers were given. */
export interface StatusResizes {
  conditions(uid: PodUid): ResizeConditions | undefined;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
}

interface StatusLoopDeps {
  readonly desired: { get(uid: PodUid): Pod | undefined };
  readonly observed: {
    get(uid: PodUid): ObservedPod | undefined;
    /** False while the runtime has not told this kubelet of the pod, so that nothing seen does not yet mean nothing there. */
    isInspected?(uid: PodUid): boolean;
  };
  readonly lifecycles: { get(uid: PodUid): PodLifecycle | undefined };
  readonly node: StatusNode;
  readonly statuses: PodStatuses;
  readonly clock: Clock;
  readonly log: Logger;
  readonly probes?: ProbeView;
  readonly gates?: StatusGates;
  readonly resizes?: StatusResizes | undefined;
  /** The status in a static pod's mirror pod, which an earlier life of this kubelet may have reported. */
  readonly reported?: (pod: Pod) => PodStatus | undefined;
  /** Told of every status after it was stored: the way to the API server. */
  readonly sink?: (uid: PodUid, pod: Pod, status: PodStatus) => void;
}

/** What changes together is told together, and after the call to the runtime that it comes from was sent. */
const coalesceMs = 2;
const retryInitialMs = 1000;
const retryMaxMs = 60_000;

export class StatusLoop implements Component {
  readonly name = 'status';
  readonly #deps: StatusLoopDeps;
  readonly #queue: KeyedQueue<PodUid>;
  /** The last spec of a pod on its way out, which its source no longer has. */
  readonly #lastSeen = new Map<PodUid, Pod>();
  readonly #rejected = new Set<PodUid>();
  /** When its source first saw the pod whose status was generated while it was run. */
  readonly #firstSeen = new Map<PodUid, string>();
  /** Static pods whose status was generated before their mirror pod was known. */
  readonly #withoutBase = new Set<PodUid>();

  constructor(deps: StatusLoopDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: retryInitialMs, maxMs: retryMaxMs },
      run: async (uid) => this.#refresh(uid),
      onError: (podUID, err, retryInMs) =>
        deps.log.error('Pod status could not be generated', { podUID, err, retryInMs }),
    });
  }

  /** Something about this pod may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.addAfter(uid, coalesceMs);
  }

  /**
   * A static pod's mirror pod has appeared: what an earlier life reported in it counts from then on. Synchronous, so that no
   * status with this life's times is sent before.
   */
  mirrorAppeared(uid: PodUid): void {
    const { desired, reported, statuses } = this.#deps;
    const [pod, status] = [desired.get(uid), statuses.get(uid)];
    if (!this.#withoutBase.has(uid) || pod === undefined || status === undefined) return;
    const base = reported?.(pod);
    if (base === undefined) return;
    this.#withoutBase.delete(uid);
    const rebased = withReportedTimes(status, base);
    if (!isDeepStrictEqual(rebased, status)) statuses.put(uid, rebased);
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    const aborted = untilAborted(signal);
    return { stopped: aborted.then(() => this.#queue.stop()) };
  }

  #refresh(uid: PodUid): void {
    const { desired, lifecycles, statuses } = this.#deps;
    const wanted = desired.get(uid);
    const lifecycle = lifecycles.get(uid);
    if (wanted === undefined && lifecycle === undefined) {
      this.#lastSeen.delete(uid);
      this.#rejected.delete(uid);
      this.#withoutBase.delete(uid);
      this.#firstSeen.delete(uid);
      statuses.drop(uid);
      return;
    }
    if (wanted !== undefined) this.#lastSeen.set(uid, wanted);
    const pod = this.#lastSeen.get(uid);
    // Nobody works on it yet, or its spec was never known here: there is nothing to say beyond what its object says.
    if (lifecycle === undefined || pod === undefined) return;
    // A kubelet that has just started must not call a running pod's containers missing: what was reported stands.
    if (this.#deps.observed.isInspected?.(uid) === false) return;
    this.#publish(uid, pod, this.#inputFor(uid, pod, lifecycle));
  }

  #inputFor(uid: PodUid, pod: Pod, lifecycle: PodLifecycle): StatusInput {
    const { observed, node, clock, probes, gates, resizes } = this.#deps;
    return {
      pod,
      observed: withoutCutStarts(observed.get(uid)),
      lifecycle,
      previous: this.#previous(uid, pod, lifecycle),
      hostIPs: node.hostIPs(),
      nowMs: clock.now(),
      runtimeName: node.runtimeName(),
      supportsRecursiveReadOnly: node.supportsRecursiveReadOnly?.(pod) ?? false,
      ...(probes === undefined ? {} : { probes }),
      ...(gates === undefined ? {} : { gates }),
      resize: resizes?.conditions(uid),
      ...(resizes === undefined ? {} : { actuated: (name: string) => resizes.actuated(uid, name) }),
    };
  }

  /** A pod that was refused and then mended under its UID begins anew: its Failed was never about containers. */
  #previous(uid: PodUid, pod: Pod, lifecycle: PodLifecycle): PodStatus | undefined {
    const wasRejected = this.#rejected.has(uid);
    if (lifecycle.state === 'rejected') this.#rejected.add(uid);
    else if (wasRejected) {
      this.#rejected.delete(uid);
      return undefined;
    }
    const previous = this.#deps.statuses.get(uid) ?? this.#reportedBefore(uid, pod);
    return this.#isRunAnew(uid, pod, lifecycle) && isTerminalPhase(previous?.phase) ? undefined : previous;
  }

  /** Whether a pod whose manifest was removed has ended and is run again under its UID: its earlier end is not its own. */
  #isRunAnew(uid: PodUid, pod: Pod, lifecycle: PodLifecycle): boolean {
    const seen = pod.metadata?.annotations?.[seenAnnotation];
    if (lifecycle.state !== 'syncing' || seen === undefined) return false;
    const before = this.#firstSeen.get(uid);
    this.#firstSeen.set(uid, seen);
    return before !== undefined && before !== seen;
  }

  #reportedBefore(uid: PodUid, pod: Pod): PodStatus | undefined {
    const { reported } = this.#deps;
    if (reported === undefined || !isStaticPod(pod)) return undefined;
    const base = reported(pod);
    if (base !== undefined) return startFromReported(pod.status, base);
    this.#withoutBase.add(uid);
    return undefined;
  }

  #publish(uid: PodUid, pod: Pod, input: StatusInput): void {
    const { statuses, log, sink, gates = defaultStatusGates } = this.#deps;
    const status = generatePodStatus(input);
    if (isDeepStrictEqual(status, input.previous)) return;
    const before = input.previous ?? pod.status ?? {};
    const revived = illegalTransition(pod, before, status, gates.ContainerRestartRules);
    if (revived !== undefined) {
      log.error('Status not published: a container that ended for good seems alive', {
        pod: podRef(pod),
        podUID: uid,
        container: revived,
      });
      return;
    }
    statuses.put(uid, status);
    log.v(4).info('Pod status changed', { pod: podRef(pod), podUID: uid, phase: status.phase });
    sink?.(uid, pod, status);
  }
}

/** A start that was cut off is made again: for the reader the container is still being made. */
function withoutCutStarts(observed: ObservedPod | undefined): ObservedPod | undefined {
  if (observed === undefined || !observed.containers.some(startWasCut)) return observed;
  return { ...observed, containers: observed.containers.filter((container) => !startWasCut(container)) };
}
