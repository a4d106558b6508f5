// Admits pods to this node, one after the other, and makes room for critical ones. Upstream: canAdmitPod in
// pkg/kubelet/allocation and the critical pod admission handler. Keeps which pods were admitted in this life.
// Invariant: a pod that runs on from an earlier life counts against a new one, also before it was asked for itself.

import type { Node, Pod } from '../../api/k8s/types.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import { type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { PodKill } from '../../api/ports/pod-kill.ts';
import { Channel } from '../../base/channel.ts';
import { isAbort } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { admitPod } from './admit-pod.ts';

interface AdmissionDeps {
  /** The active pods, with their current statuses. */
  readonly active: { withStatuses(): readonly Pod[] };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  /** The node's object, or a stand-in for it. */
  readonly node: { current(): Node };
  /** `kill` resolves when nothing of the pod runs. */
  readonly kills: { kill(uid: PodUid, kill: PodKill): Promise<void> };
  /** Allocates exclusive resources to the pod: CPUs, devices. */
  readonly exclusive: { admit(pod: Pod): Refusal | undefined };
  readonly podLevelResources: boolean;
  readonly report: {
    readonly events: EventSink;
    readonly metrics: { countPreemption(resource: string): void };
    readonly log: Logger;
  };
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

const preemptionMessage = 'Preempted in order to admit critical pod';

export class Admission {
  readonly #deps: AdmissionDeps;
  /** Announces every pod that was admitted, after admittedPod() returns it. */
  readonly changed = new Channel<PodUid>();
  readonly #admitted = new Map<PodUid, Pod>();
  /** One after the other: each counts on what the one before it took. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  async admit(pod: Pod, signal: AbortSignal): Promise<Refusal | undefined> {
    return await this.#inTurn(signal, async () => {
      const refusal =
        (await this.#makeRoom(pod, this.#others(pod), signal)) ?? this.#deps.exclusive.admit(pod);
      if (refusal === undefined) this.#record(pod);
      return refusal;
    });
  }

  /** The pod as this process admitted it; undefined if it has not. */
  admittedPod(uid: PodUid): Pod | undefined {
    return this.#admitted.get(uid);
  }

  /** Whether there is room for an admitted pod with what it asks for now. A critical one has room made, as when it came. */
  async resize(pod: Pod, signal: AbortSignal): Promise<Refusal | undefined> {
    return await this.#inTurn(signal, async () => {
      const { active } = this.#deps;
      const own = podUid(pod);
      const others = active.withStatuses().filter((each) => {
        const uid = podUid(each);
        return uid !== own && (this.#admitted.has(uid) || this.#runs(uid));
      });
      return await this.#makeRoom(pod, others, signal);
    });
  }

  #runs(uid: PodUid): boolean {
    return !isDown(this.#deps.observed.get(uid));
  }

  #record(pod: Pod): void {
    this.#admitted.set(podUid(pod), pod);
    this.changed.push(podUid(pod));
  }

  async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      signal.throwIfAborted();
      return await work();
    });
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  async #makeRoom(pod: Pod, others: readonly Pod[], signal: AbortSignal): Promise<Refusal | undefined> {
    const { node, podLevelResources, report } = this.#deps;
    const answer = admitPod({ pod, others, node: node.current(), podLevelResources });
    if (!answer.admit) return { reason: answer.reason, message: answer.message };
    for (const other of answer.preempt) {
      await this.#preempt(other, pod);
      signal.throwIfAborted();
      report.metrics.countPreemption(answer.shortOf ?? '');
    }
    return undefined;
  }

  async #preempt(other: Pod, critical: Pod): Promise<void> {
    const { kills, report } = this.#deps;
    const { events, log } = report;
    events.pod(other, { type: 'Warning', reason: 'Preempting', message: preemptionMessage });
    log.info('Pod is ended to make room for a critical one', {
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
      // Its worker goes on ending it; the critical pod need not wait for that.
      if (isAbort(err)) throw err;
      log.error('Pod could not be ended to make room', { pod: podRef(other), err });
    }
  }

  #others(pod: Pod): readonly Pod[] {
    const { active } = this.#deps;
    const own = podUid(pod);
    const ownRuns = this.#runs(own);
    const all = active.withStatuses();
    for (const uid of this.#admitted.keys())
      if (!all.some((each) => podUid(each) === uid)) this.#admitted.delete(uid);
    return all.filter((each) => {
      const uid = podUid(each);
      return uid !== own && (this.#admitted.has(uid) || (!ownRuns && this.#runs(uid)));
    });
  }
}
