// How long a container that ended waits before it is started again. Upstream: doBackOff in kuberuntime_manager.go with
// 10 s doubling to 5 min, forgotten after 10 min without a crash. Invariants: the wait counts from the moment it ended;
// once an end was noticed, setting the wall clock neither prolongs nor ends the wait.

import { formatDuration } from '../../api/k8s/duration.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { containerHashText } from '../../api/pod/container-hash.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import { type ContainerId, podUid } from '../../api/pod/pod-ref.ts';
import { Backoff } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { podFormat } from '../container/security-context.ts';

interface CrashWait {
  readonly message: string;
  readonly retryInMs: number;
}

interface CrashLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

const forgivenAfterMs = 600_000;

const defaultLimits: CrashLimits = { initialMs: 10_000, maxMs: 300_000 };

interface CrashBackoffConfig {
  readonly maxContainerRestartPeriod?: { readonly ms: number } | undefined;
}

interface CrashBackoffGates {
  readonly KubeletCrashLoopBackOffMax: boolean;
  readonly ReduceDefaultCrashLoopBackOffDecay: boolean;
}

/** The limits that the configuration and the feature gates set. Upstream: newCrashLoopBackOff in kubelet.go. */
export function crashLimits(config: CrashBackoffConfig, gates: CrashBackoffGates): CrashLimits {
  const reduced = gates.ReduceDefaultCrashLoopBackOffDecay;
  const longestMs = gates.KubeletCrashLoopBackOffMax ? config.maxContainerRestartPeriod?.ms : undefined;
  const initialMs = reduced ? 1_000 : 10_000;
  const maxMs = longestMs ?? (reduced ? 60_000 : 300_000);
  return { initialMs: Math.min(initialMs, maxMs), maxMs };
}

export class CrashBackoff {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #backoff: Backoff<string>;
  /** By key: the end that was noticed last, on the clock that is never set. */
  readonly #ends = new Map<string, { readonly id: ContainerId; readonly atMs: number }>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, limits: CrashLimits = defaultLimits) {
    this.#clock = clock;
    this.#backoff = new Backoff<string>({ ...limits, expireMs: forgivenAfterMs });
  }

  /** Undefined: start it now, and the next wait grows. */
  take(pod: Pod, container: Container, seen: ObservedPod | undefined): CrashWait | undefined {
    const ended = seen?.containers.find(({ name, state }) => name === container.name && state === 'exited');
    if (ended === undefined) return undefined;
    const key = keyOf(pod, container);
    const nowMs = this.#clock.monotonic();
    const endedAtMs = this.#endOf(key, ended, nowMs);
    if (this.#backoff.isInBackoffSince(key, endedAtMs, nowMs)) {
      const delayMs = this.#backoff.delay(key);
      const delay = formatDuration(BigInt(delayMs) * 1_000_000n);
      return {
        message: `back-off ${delay} restarting failed container=${container.name} pod=${podFormat(pod)}`,
        retryInMs: Math.max(0, endedAtMs + delayMs - nowMs),
      };
    }
    this.#backoff.next(key, endedAtMs, nowMs);
    return undefined;
  }

  /** Forgets what was kept for a pod that has gone. */
  forget(uid: string): void {
    for (const key of this.#ends.keys()) {
      if (!key.startsWith(`${uid}/`)) continue;
      this.#ends.delete(key);
      this.#backoff.reset(key);
    }
  }

  #endOf(key: string, ended: ObservedContainer, nowMs: number): number {
    const known = this.#ends.get(key);
    if (known?.id === ended.id) return known.atMs;
    const atMs = nowMs - Math.max(0, this.#clock.now() - ended.finishedAtMs);
    this.#ends.set(key, { id: ended.id, atMs });
    return atMs;
  }
}

/** What is changed in the spec begins anew: the image, or the resources it may have died for. */
function keyOf(pod: Pod, container: Container): string {
  const { name, resources = {} } = container;
  return [podUid(pod), name, containerHashText(container), JSON.stringify(resources)].join('/');
}
