// Terminates the pods of one group of a node shutdown, and waits until nothing of them is left on the node.
// Upstream: killPods in pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
// Invariants: a pod is killed once; a running pod that appears late is killed with the group in progress; every wait ends with the
// group's period, and what is unfinished continues.
import type { Pod } from '../api/k8s/types.ts';
import { isCleaned } from '../api/pod/active-pod.ts';
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { type PodUid, podRef, podUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { mergeChannels, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import { groupIndexOf } from './grace-groups.ts';
import type { ShutdownPlan } from './plan-shutdown.ts';
import { untilTrue } from './until-true.ts';

export interface GroupKillDeps {
  /** Active pods, also static ones. */
  readonly active: { all(): readonly Pod[]; readonly changed: Subscribable<PodUid> };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly desired: { sourcesReady(): boolean; readonly ready: Subscribable<void> };
  readonly kills: { kill(uid: PodUid, kill: PodKill): Promise<void> };
  readonly clock: Clock;
  readonly log: Logger;
}

interface SourcesWait {
  readonly killAll: () => void;
  readonly changed: Subscribable<unknown>;
  /** The end of the group's period, by the monotonic clock. */
  readonly endMs: number;
  readonly signal: AbortSignal;
}

const message = 'Pod was terminated in response to imminent node shutdown.';
/** The API server's default for terminationGracePeriodSeconds. */
const defaultGraceSeconds = 30;
/** How long the groups wait in all for the pods of sources that have not reported yet. */
const sourcesMs = 5_000;

export class GroupKills {
  readonly #deps: GroupKillDeps;
  readonly #plan: ShutdownPlan;
  /** The pods that had a worker when the shutdown began. */
  readonly #present: ReadonlySet<PodUid>;
  readonly #killed = new Set<PodUid>();
  #sourcesMs = sourcesMs;

  constructor(deps: GroupKillDeps, plan: ShutdownPlan) {
    this.#deps = deps;
    this.#plan = plan;
    const uids = deps.active.all().map((pod) => podUid(pod));
    this.#present = new Set(uids.filter((uid) => deps.lifecycles.get(uid) !== undefined));
  }

  /** The pods that this shutdown terminates. */
  get killed(): ReadonlySet<PodUid> {
    return this.#killed;
  }

  /** Resolves when the group's pods are gone, or its period has passed. Groups are killed in their order. */
  async kill(index: number, signal: AbortSignal): Promise<void> {
    const { active, clock, lifecycles, log } = this.#deps;
    const group = this.#plan.groups[index];
    if (group === undefined) return;
    const own = new Map<PodUid, Pod>();
    const killAll = (): void => {
      for (const pod of this.#inScope(index)) this.#killOnce(pod, index, own);
    };
    const isGone = (): boolean => {
      killAll();
      return [...own.keys()].every((uid) => isCleaned(lifecycles.get(uid))) && this.#haveWorkers(index);
    };
    const changed = mergeChannels(active.changed, lifecycles.changed);
    const endMs = clock.monotonic() + group.seconds * 1_000;
    await this.#untilSourcesReady({ killAll, changed, endMs, signal });
    const ms = Math.max(0, endMs - clock.monotonic());
    const inTime = await untilTrue(isGone, { changed, clock, ms, signal });
    if (own.size === 0) return;
    const { priority, seconds } = group;
    const fields = { priority, seconds, pods: own.size };
    if (inTime) return log.info('Terminated the pods of a shutdown group', fields);
    const left = [...own].filter(([uid]) => !isCleaned(lifecycles.get(uid)));
    const pods = left.map(([, pod]) => podRef(pod));
    log.error('Pods of a shutdown group were not terminated in time', { ...fields, left: pods });
  }

  /** A kubelet that has just started may not know all pods. The known ones need not wait for the others. */
  async #untilSourcesReady({ changed, endMs, killAll, signal }: SourcesWait): Promise<void> {
    const { clock, desired } = this.#deps;
    const startedMs = clock.monotonic();
    const isReady = (): boolean => {
      killAll();
      return desired.sourcesReady();
    };
    const ms = Math.max(0, Math.min(this.#sourcesMs, endMs - startedMs));
    await untilTrue(isReady, { changed: mergeChannels(changed, desired.ready), clock, ms, signal });
    this.#sourcesMs -= clock.monotonic() - startedMs;
  }

  /** Of this group, and of earlier ones: those have been killed already, except pods that appeared since. */
  #inScope(index: number): readonly Pod[] {
    const { groups } = this.#plan;
    return this.#deps.active.all().filter((pod) => groupIndexOf(pod, groups) <= index);
  }

  /** A pod without a worker is about to be rejected, or to continue what an earlier kubelet started. */
  #haveWorkers(index: number): boolean {
    return this.#inScope(index).every((pod) => this.#deps.lifecycles.get(podUid(pod)) !== undefined);
  }

  /** A pod that is new is rejected; one that an earlier kubelet started is not. */
  #isKilled(uid: PodUid): boolean {
    const { lifecycles, observed } = this.#deps;
    if (lifecycles.get(uid) === undefined) return false;
    return this.#present.has(uid) || !isDown(observed.get(uid));
  }

  #killOnce(pod: Pod, index: number, own: Map<PodUid, Pod>): void {
    const { kills, log } = this.#deps;
    const uid = podUid(pod);
    if (this.#killed.has(uid) || !this.#isKilled(uid)) return;
    this.#killed.add(uid);
    own.set(uid, pod);
    const kill = this.#killOf(pod, index);
    log.v(1).info('Terminating pod for the node shutdown', {
      pod: podRef(pod),
      podUID: uid,
      graceSeconds: kill.graceSeconds,
    });
    // Rejects only when the kubelet stops.
    kills.kill(uid, kill).catch(() => undefined);
  }

  #killOf(pod: Pod, index: number): PodKill {
    const group = this.#plan.groups[index];
    const { graceSeconds = 0, priority = 0, seconds = 0 } = group ?? {};
    const ownSeconds = pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
    return {
      reason: 'Terminated',
      message,
      graceSeconds: Math.min(graceSeconds, ownSeconds),
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
      evidence: {
        rule: `node shutdown, pods of priority ${priority} and above`,
        figures: { priority: pod.spec?.priority ?? 0, groupSeconds: seconds, ownGraceSeconds: ownSeconds },
      },
    };
  }
}
