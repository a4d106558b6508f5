// Evicts pods: emits the event, has the pod's worker terminate it, and waits until nothing of it is left on the node.
// Upstream: evictPod and waitForPodsCleanup in pkg/kubelet/eviction/eviction_manager.go, killPodNow in pkg/kubelet.
// Invariants: a pod is evicted once; its eviction is on disk before it is killed; a pod that cannot be terminated does not block
// the manager indefinitely.
import type { Pod } from '../api/k8s/types.ts';
import { type PodUid, podRef, podUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import type { ContainerReclaim } from '../api/ports/reclaim.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { evictionGraceSeconds, immediateGraceSeconds } from './decide/grace.ts';
import { evictionMessage } from './decide/message.ts';
import { thresholdQuantity } from './decide/met.ts';
import type { Observations } from './decide/observe.ts';
import type { RankedPod } from './decide/rank.ts';
import type { ExceededLimit } from './decide/storage-limits.ts';
import { resourceOf, type Threshold } from './decide/thresholds.ts';
import { type LifecycleView, untilCleaned } from './until-cleaned.ts';

export interface Eviction {
  readonly pod: Pod;
  /** The label of the metric. */
  readonly signal: string;
  readonly kill: PodKill & { readonly graceSeconds: number };
  /** Its containers and logs have to go as well. */
  readonly freesDisk: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface PodEvictorDeps {
  readonly kills: {
    get(uid: PodUid): PodKill | undefined;
    kill(uid: PodUid, kill: PodKill): Promise<void>;
  };
  readonly unfinished: { add(uid: PodUid, kill: PodKill): Promise<void> };
  readonly lifecycles: LifecycleView;
  readonly containers: Pick<ContainerReclaim, 'deleteEvicted'>;
  readonly events: Pick<EventSink, 'pod'>;
  readonly metrics: { evicted(signal: string): void };
  readonly clock: Clock;
  readonly log: Logger;
}

const reason = 'Evicted';
const minKillWaitMs = 10_000;
const cleanUpMs = 30_000;
/** They stay until the API server, which may be unreachable, has their exits. */
const freeDiskMs = 10_000;

export class PodEvictor {
  readonly #deps: PodEvictorDeps;
  readonly #inFlight = new Map<PodUid, Eviction['kill']>();

  constructor(deps: PodEvictorDeps) {
    this.#deps = deps;
  }

  /**
   * False for a pod whose eviction has begun. differs from upstream: there a pod whose kill timed out can be chosen, reported and
   * counted again.
   */
  mayEvict(uid: PodUid): boolean {
    const { kills, lifecycles } = this.#deps;
    const lifecycle = lifecycles.get(uid);
    const kill =
      kills.get(uid) ?? (lifecycle !== undefined && 'kill' in lifecycle ? lifecycle.kill : undefined);
    return kill === undefined;
  }

  /** Memory runs short while pods are evicted with a longer grace period: they get the shortest one. */
  hurry(): void {
    for (const [uid, kill] of this.#inFlight) {
      if (kill.graceSeconds <= immediateGraceSeconds) continue;
      // The call in flight reports the outcome.
      this.#deps.kills.kill(uid, { ...kill, graceSeconds: immediateGraceSeconds }).catch(() => undefined);
    }
  }

  /** Resolves when the pods are gone, or when they took too long. */
  async evict(evictions: readonly Eviction[], signal: AbortSignal): Promise<void> {
    const { clock, lifecycles, log } = this.#deps;
    const uids = evictions.map(({ pod }) => podUid(pod));
    await Promise.all(evictions.map((eviction) => this.#kill(eviction, signal)));
    const isCleaned = await untilCleaned(uids, { lifecycles, clock, ms: cleanUpMs, signal });
    if (isCleaned) return await this.#freeDisk(evictions, signal);
    log.error('Evicted pods were not cleaned up in time', { pods: evictions.map(({ pod }) => podRef(pod)) });
  }

  /**
   * differs from upstream: writable layers and logs go before the figures are read again. Upstream's next garbage collection is up to
   * a minute away, and until then every pass finds the disk as full as before and evicts another pod.
   */
  async #freeDisk(evictions: readonly Eviction[], signal: AbortSignal): Promise<void> {
    const { clock, containers, log } = this.#deps;
    const pods = evictions.filter(({ freesDisk }) => freesDisk).map(({ pod }) => pod);
    if (pods.length === 0) return;
    const what = 'the removal of the containers of evicted pods';
    try {
      await withDeadline({ clock, ms: freeDiskMs, signal, what }, (inner) =>
        containers.deleteEvicted(new Set(pods.map(podUid)), inner),
      );
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      log.error('Failed to remove the containers of evicted pods in time', { pods: pods.map(podRef), err });
    }
  }

  async #kill({ annotations, kill, pod, signal: name }: Eviction, signal: AbortSignal): Promise<void> {
    const { clock, events, kills, log, metrics, unfinished } = this.#deps;
    const uid = podUid(pod);
    log.info('Evicting pod', { pod: podRef(pod), podUID: uid, signal: name, rule: kill.evidence?.rule });
    const { message } = kill;
    events.pod(pod, { type: 'Warning', reason, message, ...(annotations && { annotations }) });
    metrics.evicted(name);
    await unfinished.add(uid, kill);
    this.#inFlight.set(uid, kill);
    const ms = Math.max(minKillWaitMs, kill.graceSeconds * 1_500);
    try {
      await withDeadline({ clock, ms, signal, what: 'the termination of the evicted pod' }, () =>
        kills.kill(uid, kill),
      );
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      log.error('Failed to terminate the evicted pod in time', { pod: podRef(pod), podUID: uid, err });
      events.pod(pod, {
        type: 'Warning',
        reason: 'ExceededGracePeriod',
        message: 'Container runtime did not kill the pod within specified grace period.',
      });
    } finally {
      this.#inFlight.delete(uid);
    }
  }
}

interface PressureEvictionInput {
  readonly victim: RankedPod;
  readonly threshold: Threshold;
  /** All thresholds acted on. */
  readonly acting: readonly Threshold[];
  readonly observations: Observations;
  readonly settings: { readonly maxPodGraceSeconds: number; readonly skipPodLevelResources: boolean };
}

export function pressureEviction(input: PressureEvictionInput): Eviction {
  const { acting: thresholds, observations, settings, threshold, victim } = input;
  const { load, pod } = victim;
  const { signal } = threshold;
  const resource = resourceOf(signal);
  const { maxPodGraceSeconds, skipPodLevelResources } = settings;
  const { annotations, message } = evictionMessage({
    resource,
    pod,
    load,
    thresholds,
    observations,
    skipPodLevelResources,
  });
  const observed = observations.get(signal);
  return {
    pod,
    signal,
    annotations,
    freesDisk: resource === 'ephemeral-storage' || resource === 'inodes',
    kill: {
      reason,
      message,
      graceSeconds: evictionGraceSeconds(threshold, pod, maxPodGraceSeconds),
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
      evicted: true,
      evidence: {
        rule:
          observed === undefined
            ? signal
            : `${signal}<${thresholdQuantity(threshold.value, observed.capacity)}`,
        figures: {
          ...(observed && { available: observed.available, capacity: observed.capacity }),
          ...(victim.usage !== undefined && { usage: victim.usage }),
          request: victim.request,
          priority: victim.priority,
        },
      },
    },
  };
}

/** An exceeded limit is the pod's own fault, so it carries no DisruptionTarget. */
export function storageEviction(pod: Pod, exceeded: ExceededLimit): Eviction {
  const { limit, message, name, signal, usedBytes } = exceeded;
  return {
    pod,
    signal,
    freesDisk: true,
    kill: {
      reason,
      message,
      graceSeconds: immediateGraceSeconds,
      evicted: true,
      evidence: {
        rule: `${signal}${name === undefined ? '' : ` of ${name}`}`,
        figures: { usedBytes, limit: `${limit}` },
      },
    },
  };
}
