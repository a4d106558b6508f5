// Admits pods to this node one at a time, and preempts others for critical pods. Records the pods that this process admitted.
// Invariant: a pod that still runs after a restart of the kubelet counts against new pods, even before it is admitted again.
// Upstream: canAdmitPod in pkg/kubelet/allocation and the critical pod admission handler.

import type { Node, NodeFeatures, Pod } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import { type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { PodKill } from '../../api/ports/pod-kill.ts';
import type { PressureView } from '../../api/ports/pressure.ts';
import { Channel } from '../../base/channel.ts';
import { isAbort, isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { admitPod } from './admit-pod.ts';
import { admitUnderPressure } from './admit-under-pressure.ts';

interface AdmissionDeps {
  /** The active pods, with their current statuses. */
  readonly active: { withStatuses(): readonly Pod[] };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  /** The Node object, or a substitute without an API server. */
  readonly node: {
    features(pod: Pod, signal: AbortSignal): Promise<NodeFeatures | undefined>;
    current(features: NodeFeatures | undefined): Node;
    live(features: NodeFeatures | undefined, signal: AbortSignal): Promise<Node | undefined>;
  };
  /** `kill` resolves when everything of the pod has stopped. */
  readonly kills: { kill(uid: PodUid, kill: PodKill): Promise<void> };
  readonly exclusive: ExclusiveAdmission;
  readonly pressure: Pick<PressureView, 'conditions'>;
  readonly shutdown: { readonly isShuttingDown: boolean };
  readonly podLevelResources: boolean;
  readonly report: {
    readonly events: EventSink;
    readonly metrics: { countPreemption(resource: string): void };
    readonly log: Logger;
  };
}

/** Allocates what a pod has for itself: CPUs, memory of NUMA nodes, devices. */
interface ExclusiveAdmission {
  admit(pod: Pod): Rejection | undefined;
  /** Frees what a pod that was rejected for another reason was allocated. */
  release(uid: PodUid): void;
  /** Whether device plugins provide this resource: the allocation itself is the check of it. */
  isDevice(resource: string): boolean;
}

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** `isAffinityOnly`: nothing but the node's labels speaks against the pod. */
type CheckedRejection = Rejection & { readonly isAffinityOnly?: true };

const nodeShutdown: Rejection = {
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
};
const preemptionMessage = 'Preempted in order to admit critical pod';

export class Admission {
  readonly #deps: AdmissionDeps;
  /** Announces every admitted pod, after `admittedPod` returns it. */
  readonly changed = new Channel<PodUid>();
  readonly #admitted = new Map<PodUid, Pod>();
  /** Serialises admissions: each must count the resources that the one before it allocated. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** A label that was set right before the pod was bound may not have been watched yet: the node is then read once. */
  async admit(pod: Pod, signal: AbortSignal): Promise<Rejection | undefined> {
    const { node } = this.#deps;
    // Both calls beside the other admissions, which must wait neither for the runtime nor for the API server.
    const features = await node.features(pod, signal);
    const rejection = await this.#admitOn(pod, () => node.current(features), signal);
    if (rejection?.isAffinityOnly !== true) return rejection;
    const live = await this.#liveNode(pod, features, signal);
    const final = live === undefined ? rejection : await this.#admitOn(pod, () => live, signal);
    return final && { reason: final.reason, message: final.message };
  }

  async #admitOn(pod: Pod, node: () => Node, signal: AbortSignal): Promise<CheckedRejection | undefined> {
    return await this.#serialised(signal, async () => {
      const rejection =
        this.#rejectInShutdown(pod) ??
        this.#rejectUnderPressure(pod) ??
        (await this.#placeOn(pod, node, signal));
      if (rejection === undefined) this.#record(pod);
      // The containers of a pod that still runs use what it holds until they have stopped.
      else if (!this.#isRunning(podUid(pod))) this.#deps.exclusive.release(podUid(pod));
      return rejection;
    });
  }

  /**
   * As upstream, exclusive resources are checked before all others.
   * differs from upstream: for a critical pod the others come first, since the pods that it preempts may hold what it needs.
   */
  async #placeOn(pod: Pod, node: () => Node, signal: AbortSignal): Promise<CheckedRejection | undefined> {
    const { exclusive } = this.#deps;
    const makeRoom = (): Promise<CheckedRejection | undefined> =>
      this.#makeRoom(pod, node(), this.#others(pod), signal);
    if (isCriticalPod(pod)) return (await makeRoom()) ?? exclusive.admit(pod);
    return exclusive.admit(pod) ?? (await makeRoom());
  }

  /** differs from upstream: a pod that already runs when the kubelet starts is not rejected: it terminates with its group. */
  #rejectInShutdown(pod: Pod): Rejection | undefined {
    return this.#deps.shutdown.isShuttingDown && !this.#isRunning(podUid(pod)) ? nodeShutdown : undefined;
  }

  /** differs from upstream: a pod that already runs when the kubelet starts is not rejected; if it must go, it is evicted in turn. */
  #rejectUnderPressure(pod: Pod): Rejection | undefined {
    const { podLevelResources, pressure } = this.#deps;
    if (this.#isRunning(podUid(pod))) return undefined;
    return admitUnderPressure(pod, pressure.conditions(), { skipPodLevelResources: !podLevelResources });
  }

  async #liveNode(
    pod: Pod,
    features: NodeFeatures | undefined,
    signal: AbortSignal,
  ): Promise<Node | undefined> {
    const { node, report } = this.#deps;
    try {
      return await node.live(features, signal);
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      report.log.error('Failed to get the node from the API server', { pod: podRef(pod), err });
      return undefined;
    }
  }

  /** The pod as this process admitted it; undefined if it has not. */
  admittedPod(uid: PodUid): Pod | undefined {
    return this.#admitted.get(uid);
  }

  /** Checks whether an admitted pod fits with its new requests. A critical pod may preempt others, as on admission. */
  async resize(pod: Pod, signal: AbortSignal): Promise<Rejection | undefined> {
    const { active, node } = this.#deps;
    const features = await node.features(pod, signal);
    return await this.#serialised(signal, async () => {
      const own = podUid(pod);
      const others = active.withStatuses().filter((each) => {
        const uid = podUid(each);
        return uid !== own && (this.#admitted.has(uid) || this.#isRunning(uid));
      });
      return await this.#makeRoom(pod, node.current(features), others, signal);
    });
  }

  #isRunning(uid: PodUid): boolean {
    return !isDown(this.#deps.observed.get(uid));
  }

  #record(pod: Pod): void {
    this.#admitted.set(podUid(pod), pod);
    this.changed.push(podUid(pod));
  }

  async #serialised<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      signal.throwIfAborted();
      return await work();
    });
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  async #makeRoom(
    pod: Pod,
    node: Node,
    others: readonly Pod[],
    signal: AbortSignal,
  ): Promise<CheckedRejection | undefined> {
    const { exclusive, podLevelResources, report } = this.#deps;
    const isDevice = (resource: string): boolean => exclusive.isDevice(resource);
    const decision = admitPod({ pod, others, node, podLevelResources, isDevice });
    if (!decision.admit) {
      const { admit: _no, ...rejection } = decision;
      return rejection;
    }
    for (const other of decision.preempt) {
      await this.#preempt(other, pod);
      signal.throwIfAborted();
      report.metrics.countPreemption(decision.shortOf ?? '');
    }
    return undefined;
  }

  async #preempt(other: Pod, critical: Pod): Promise<void> {
    const { kills, report } = this.#deps;
    const { events, log } = report;
    events.pod(other, { type: 'Warning', reason: 'Preempting', message: preemptionMessage });
    log.info('Preempting pod to admit a critical pod', {
      pod: podRef(other),
      critical: podRef(critical),
    });
    try {
      await kills.kill(podUid(other), {
        reason: 'Preempting',
        message: preemptionMessage,
        condition: {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'TerminationByKubelet',
          message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
        },
      });
    } catch (err) {
      // The worker keeps terminating the pod; the critical pod need not wait for it.
      if (isAbort(err)) throw err;
      log.error('Failed to preempt pod', { pod: podRef(other), err });
    }
  }

  #others(pod: Pod): readonly Pod[] {
    const { active } = this.#deps;
    const own = podUid(pod);
    const isOwnRunning = this.#isRunning(own);
    const all = active.withStatuses();
    for (const uid of this.#admitted.keys())
      if (!all.some((each) => podUid(each) === uid)) this.#admitted.delete(uid);
    return all.filter((each) => {
      const uid = podUid(each);
      return uid !== own && (this.#admitted.has(uid) || (!isOwnRunning && this.#isRunning(uid)));
    });
  }
}
