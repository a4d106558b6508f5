// Keeps PodStatuses up to date: woken for a pod, it reads the desired, observed and lifecycle stores, generates the status
// and publishes it if it differs. Owns PodStatuses (sole writer).
// Invariants: only real changes are announced; a pod has no status before its first inspection; a pod that is neither desired
// nor has a worker has no status; a container that must not restart never leaves the terminated state.
// Upstream: pkg/kubelet/status/status_manager.go, without the API calls.
import { isDeepStrictEqual } from 'node:util';
import { seenAnnotation } from '../api/cri/labels.ts';
import type {
  Pod,
  PodStatus,
  ResourceRequirements,
  ResourceStatus,
  VolumeHealthCondition,
} from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { findMirror, staticPodsNamed } from '../api/pod/mirrors.ts';
import { type ObservedPod, startWasInterrupted } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef } from '../api/pod/pod-ref.ts';
import { isStaticPod } from '../api/ports/pod-source.ts';
import type { ResizeConditions } from '../api/ports/resize-conditions.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { ProbeView } from './container-status.ts';
import { generatePodStatus, type StatusInput } from './generate-status.ts';
import type { CgroupReading } from './pod-resources.ts';
import type { PodStatuses } from './pod-statuses.ts';
import { illegalTransition } from './push/illegal-transition.ts';
import { startFromReported, withReportedTimes } from './reported-times.ts';
import type { StatusGates } from './status-gates.ts';

/** What the node and its runtime contribute to every status. */
export interface StatusNode {
  /** Primary first; empty while the node has no address. */
  hostIPs(): readonly string[];
  /** The runtime's own name, used in container IDs. */
  runtimeName(): string;
  /** False until the runtime has been inspected for this pod: an empty observation does not mean that nothing runs. */
  isInspected(uid: PodUid): boolean;
  supportsRecursiveReadOnly?(pod: Pod): boolean;
}

/** Resizes in progress, and the resources last applied to containers. */
interface StatusResizes {
  conditions(uid: PodUid): ResizeConditions | undefined;
  actuated(uid: PodUid, container: string): ResourceRequirements | undefined;
  /** The settings of the pod's cgroup as last read; undefined if never. */
  cgroup(uid: PodUid): CgroupReading | undefined;
  readonly changed: Subscribable<PodUid>;
}

/** The health of the devices that containers hold. */
interface StatusDevices {
  statusOf(uid: PodUid, container: string): readonly ResourceStatus[];
  readonly changed: Subscribable<PodUid>;
}

/** The conditions of volumes, as their drivers report them. */
interface StatusVolumeHealth {
  conditionsOf(uid: PodUid, volume: string): readonly VolumeHealthCondition[] | undefined;
  readonly changed: Subscribable<PodUid>;
}

/** The stores that a status is generated from. */
interface StatusStores {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    all(): readonly { readonly uid: PodUid; readonly pod: Pod; readonly source: string }[];
    readonly changed: Subscribable<PodUid>;
  };
  readonly observed: {
    get(uid: PodUid): ObservedPod | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly probes: ProbeView & { readonly changed: Subscribable<PodUid> };
  readonly resizes: StatusResizes;
  /** Undefined: the gate ResourceHealthStatus is off. */
  readonly devices: StatusDevices | undefined;
  /** Undefined: the gate CSIVolumeHealth is off. */
  readonly volumeHealth?: StatusVolumeHealth | undefined;
  /** Mirror pods carry the status that an earlier process of this kubelet reported. */
  readonly apiPods: {
    mirror(fullName: string): Pod | undefined;
    readonly mirrorChanged: Subscribable<string>;
  };
}

export interface StatusLoopDeps {
  readonly stores: StatusStores;
  readonly statuses: PodStatuses;
  readonly node: StatusNode;
  readonly gates: StatusGates;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Changes within this time are published as one status, after the runtime call that caused them has been sent. */
const coalesceMs = 2;
const retryInitialMs = 1000;
const retryMaxMs = 60_000;

export class StatusLoop implements Component {
  readonly name = 'status';
  readonly #deps: StatusLoopDeps;
  readonly #queue: KeyedQueue<PodUid>;
  /** The last known spec, for a terminating pod that its source no longer has. */
  readonly #lastSpecs = new Map<PodUid, Pod>();
  readonly #rejected = new Set<PodUid>();
  /** The seen annotation of the pod when its status was last generated while syncing. */
  readonly #firstSeen = new Map<PodUid, string>();
  /** Static pods whose status was generated before their mirror pod appeared. */
  readonly #withoutBase = new Set<PodUid>();

  constructor(deps: StatusLoopDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<PodUid>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: retryInitialMs, maxMs: retryMaxMs },
      run: async (uid) => this.#refresh(uid),
      onError: (podUID, err, retryInMs) =>
        deps.log.error('Failed to generate pod status', { podUID, err, retryInMs }),
    });
  }

  /** Something about this pod may have changed. Cheap, idempotent, safe from anywhere. */
  poke(uid: PodUid): void {
    this.#queue.addAfter(uid, coalesceMs);
  }

  get wakes() {
    const { apiPods, desired, devices, lifecycles, observed, probes, resizes, volumeHealth } =
      this.#deps.stores;
    const poke = (uid: PodUid): void => this.poke(uid);
    return [
      on(desired.changed, poke),
      on(observed.changed, poke),
      on(lifecycles.changed, poke),
      on(probes.changed, poke),
      on(resizes.changed, poke),
      ...(devices === undefined ? [] : [on(devices.changed, poke)]),
      ...(volumeHealth === undefined ? [] : [on(volumeHealth.changed, poke)]),
      on(apiPods.mirrorChanged, (fullName) => {
        for (const uid of staticPodsNamed(desired, fullName)) this.#mirrorAppeared(uid);
      }),
    ];
  }

  /**
   * Generates a static pod's status again, based on what an earlier process reported in the mirror pod. Synchronous, so that
   * no status with this process's times, or without the probe results of the earlier process, is sent first.
   */
  #mirrorAppeared(uid: PodUid): void {
    const { statuses, stores } = this.#deps;
    const pod = stores.desired.get(uid)?.pod;
    const lifecycle = stores.lifecycles.get(uid);
    const isLate = this.#withoutBase.has(uid) && statuses.get(uid) !== undefined;
    if (!isLate || pod === undefined || lifecycle === undefined) return;
    const base = findMirror(stores.apiPods, pod)?.status;
    if (base === undefined) return;
    this.#withoutBase.delete(uid);
    const input = this.#inputFor(uid, pod, lifecycle);
    this.#publish(uid, pod, input, withReportedTimes(generatePodStatus(input), base));
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    const aborted = untilAborted(signal);
    return { stopped: aborted.then(() => this.#queue.stop()) };
  }

  #refresh(uid: PodUid): void {
    const { node, statuses, stores } = this.#deps;
    const desired = stores.desired.get(uid)?.pod;
    const lifecycle = stores.lifecycles.get(uid);
    if (desired === undefined && lifecycle === undefined) {
      this.#lastSpecs.delete(uid);
      this.#rejected.delete(uid);
      this.#withoutBase.delete(uid);
      this.#firstSeen.delete(uid);
      statuses.drop(uid);
      return;
    }
    if (desired !== undefined) this.#lastSpecs.set(uid, desired);
    const pod = this.#lastSpecs.get(uid);
    // Not synced yet, or an orphan whose spec is unknown: the status in the API object stands.
    if (lifecycle === undefined || pod === undefined) return;
    // A kubelet that has just started must not report a running pod's containers as missing: the reported status stands.
    if (!node.isInspected(uid)) return;
    this.#publish(uid, pod, this.#inputFor(uid, pod, lifecycle));
  }

  #inputFor(uid: PodUid, pod: Pod, lifecycle: PodLifecycle): StatusInput {
    const { clock, gates, node, stores } = this.#deps;
    const { devices, observed, probes, resizes, volumeHealth } = stores;
    return {
      pod,
      observed: withoutInterruptedStarts(observed.get(uid)),
      lifecycle,
      previous: this.#previous(uid, pod, lifecycle),
      hostIPs: node.hostIPs(),
      nowMs: clock.now(),
      runtimeName: node.runtimeName(),
      supportsRecursiveReadOnly: node.supportsRecursiveReadOnly?.(pod) ?? false,
      probes,
      gates,
      resize: resizes.conditions(uid),
      actuated: (name: string) => resizes.actuated(uid, name),
      devices: devices && ((name: string) => devices.statusOf(uid, name)),
      volumeHealth: volumeHealth && ((name: string) => volumeHealth.conditionsOf(uid, name)),
      cgroup: resizes.cgroup(uid),
    };
  }

  /** A rejected pod whose manifest was corrected under the same UID starts over: its Failed phase came from no container. */
  #previous(uid: PodUid, pod: Pod, lifecycle: PodLifecycle): PodStatus | undefined {
    const wasRejected = this.#rejected.has(uid);
    if (lifecycle.state === 'rejected') this.#rejected.add(uid);
    else if (wasRejected) {
      this.#rejected.delete(uid);
      return undefined;
    }
    const previous = this.#deps.statuses.get(uid) ?? this.#reportedBefore(uid, pod);
    return this.#isNewRun(uid, pod, lifecycle) && isTerminalPhase(previous?.phase) ? undefined : previous;
  }

  /** Whether a static pod was removed, terminated and added again under the same UID: its earlier phase no longer applies. */
  #isNewRun(uid: PodUid, pod: Pod, lifecycle: PodLifecycle): boolean {
    const seen = pod.metadata?.annotations?.[seenAnnotation];
    if (lifecycle.state !== 'syncing' || seen === undefined) return false;
    const before = this.#firstSeen.get(uid);
    this.#firstSeen.set(uid, seen);
    return before !== undefined && before !== seen;
  }

  #reportedBefore(uid: PodUid, pod: Pod): PodStatus | undefined {
    if (!isStaticPod(pod)) return undefined;
    const base = findMirror(this.#deps.stores.apiPods, pod)?.status;
    if (base !== undefined) return startFromReported(pod.status, base);
    this.#withoutBase.add(uid);
    return undefined;
  }

  #publish(uid: PodUid, pod: Pod, input: StatusInput, status = generatePodStatus(input)): void {
    const { gates, log, statuses } = this.#deps;
    if (isDeepStrictEqual(status, input.previous)) return;
    const before = input.previous ?? pod.status ?? {};
    const revived = illegalTransition(pod, before, status, gates);
    if (revived !== undefined) {
      log.error('Refused to publish a pod status that restarts a finished container', {
        pod: podRef(pod),
        podUID: uid,
        container: revived,
      });
      return;
    }
    statuses.put(uid, status);
    log.v(4).info('Pod status changed', { pod: podRef(pod), podUID: uid, phase: status.phase });
  }
}

/** An interrupted start is repeated, so the container is reported as still being created. */
function withoutInterruptedStarts(observed: ObservedPod | undefined): ObservedPod | undefined {
  if (observed === undefined || !observed.containers.some(startWasInterrupted)) return observed;
  return {
    ...observed,
    containers: observed.containers.filter((container) => !startWasInterrupted(container)),
  };
}
