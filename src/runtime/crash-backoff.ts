// How long a container that ended waits before it is started again. Upstream: doBackOff in kuberuntime_manager.go with
// 10 s doubling to 5 min, forgotten after 10 min without a crash. Invariants: the wait counts from the moment it ended;
// once an end was noticed, setting the wall clock neither prolongs nor ends the wait.
import { containerHashText } from '../api/container-hash.ts';
import { formatDuration } from '../api/duration.ts';
import type { Container, Pod } from '../api/k8s.ts';
import type { ObservedContainer, ObservedPod } from '../api/observed.ts';
import { type ContainerId, podUid } from '../api/pod-ref.ts';
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { podFormat } from './security-context.ts';

export interface CrashWait {
  readonly message: string;
  readonly retryInMs: number;
}

export class CrashBackoff {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #backoff = new Backoff<string>({ initialMs: 10_000, maxMs: 300_000 });
  /** By key: the end that was noticed last, on the clock that is never set. */
  readonly #ends = new Map<string, { readonly id: ContainerId; readonly atMs: number }>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Undefined: start it now, and the next wait grows. */
  take(pod: Pod, container: Container, seen: ObservedPod | undefined): CrashWait | undefined {
    const ended = seen?.containers.find(({ name, state }) => name === container.name && state === 'exited');
    if (ended === undefined) return undefined;
    const key = `${podUid(pod)}/${container.name}/${containerHashText(container)}`;
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
