// The back-off before an exited container is restarted. Upstream: doBackOff in kuberuntime_manager.go: 10 s doubling to 5 min,
// reset after 10 min without a crash. Invariants: the back-off counts from the container's exit; once an exit was observed, a
// change of the wall clock neither prolongs nor ends it.

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

const resetAfterMs = 600_000;

const defaultLimits: CrashLimits = { initialMs: 10_000, maxMs: 300_000 };

interface CrashBackoffConfig {
  readonly maxContainerRestartPeriod?: { readonly ms: number } | undefined;
}

interface CrashBackoffGates {
  readonly KubeletCrashLoopBackOffMax: boolean;
  readonly ReduceDefaultCrashLoopBackOffDecay: boolean;
}

/** The limits that the configuration and the feature gates set, read each time they are used. Upstream: newCrashLoopBackOff in kubelet.go. */
export function crashLimits(
  config: { readonly crashLoopBackOff: CrashBackoffConfig },
  gates: CrashBackoffGates,
): CrashLimits {
  const reduced = gates.ReduceDefaultCrashLoopBackOffDecay;
  const isConfigured = gates.KubeletCrashLoopBackOffMax;
  return {
    get initialMs() {
      return Math.min(reduced ? 1_000 : 10_000, this.maxMs);
    },
    get maxMs() {
      const longestMs = isConfigured ? config.crashLoopBackOff.maxContainerRestartPeriod?.ms : undefined;
      return longestMs ?? (reduced ? 60_000 : 300_000);
    },
  };
}

export class CrashBackoff {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #backoff: Backoff<string>;
  /** By key: the last observed exit, on the monotonic clock. */
  readonly #exits = new Map<string, { readonly id: ContainerId; readonly atMs: number }>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, limits: CrashLimits = defaultLimits) {
    this.#clock = clock;
    this.#backoff = new Backoff<string>({
      get initialMs() {
        return limits.initialMs;
      },
      get maxMs() {
        return limits.maxMs;
      },
      expireMs: resetAfterMs,
    });
  }

  /** Undefined: start the container now; the next back-off is longer. */
  waitBeforeStart(pod: Pod, container: Container, seen: ObservedPod | undefined): CrashWait | undefined {
    const exited = seen?.containers.find(({ name, state }) => name === container.name && state === 'exited');
    if (exited === undefined) return undefined;
    const key = keyOf(pod, container);
    const nowMs = this.#clock.monotonic();
    const exitedAtMs = this.#exitOf(key, exited, nowMs);
    if (this.#backoff.isInBackoffSince(key, exitedAtMs, nowMs)) {
      const delayMs = this.#backoff.delay(key);
      const delay = formatDuration(BigInt(delayMs) * 1_000_000n);
      return {
        message: `back-off ${delay} restarting failed container=${container.name} pod=${podFormat(pod)}`,
        retryInMs: Math.max(0, exitedAtMs + delayMs - nowMs),
      };
    }
    this.#backoff.next(key, exitedAtMs, nowMs);
    return undefined;
  }

  /** Resets the back-off of a pod's containers. */
  forget(uid: string): void {
    for (const key of this.#exits.keys()) {
      if (!key.startsWith(`${uid}/`)) continue;
      this.#exits.delete(key);
      this.#backoff.reset(key);
    }
  }

  #exitOf(key: string, exited: ObservedContainer, nowMs: number): number {
    const known = this.#exits.get(key);
    if (known?.id === exited.id) return known.atMs;
    const atMs = nowMs - Math.max(0, this.#clock.now() - exited.finishedAtMs);
    this.#exits.set(key, { id: exited.id, atMs });
    return atMs;
  }
}

/** A changed spec starts a new back-off: another image, or other resources after an OOM kill. */
function keyOf(pod: Pod, container: Container): string {
  const { name, resources = {} } = container;
  return [podUid(pod), name, containerHashText(container), JSON.stringify(resources)].join('/');
}
