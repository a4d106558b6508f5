// How long a container that ended waits before it is started again. Upstream: doBackOff in kuberuntime_manager.go with
// 10 s doubling to 5 min, forgotten after 10 min without a crash. Invariant: the wait counts from the moment it ended.
import { containerHashText } from '../api/container-hash.ts';
import { formatDuration } from '../api/duration.ts';
import type { Container, Pod } from '../api/k8s.ts';
import type { ObservedPod } from '../api/observed.ts';
import { podUid } from '../api/pod-ref.ts';
import { Backoff } from '../base/backoff.ts';
import { podFormat } from './security-context.ts';

export interface CrashWait {
  readonly message: string;
  readonly retryInMs: number;
}

export class CrashBackoff {
  readonly #backoff: Backoff<string>;

  constructor(
    options: { readonly initialMs: number; readonly maxMs: number } = { initialMs: 10_000, maxMs: 300_000 },
  ) {
    this.#backoff = new Backoff<string>(options);
  }

  /** Undefined: start it now, and the next wait grows. */
  take(pod: Pod, container: Container, seen: ObservedPod | undefined, nowMs: number): CrashWait | undefined {
    const ended = seen?.containers.find(({ name, state }) => name === container.name && state === 'exited');
    if (ended === undefined) return undefined;
    const key = `${podUid(pod)}/${container.name}/${containerHashText(container)}`;
    // A clock that was set back must not turn the wait into one of hours.
    const endedAtMs = Math.min(ended.finishedAtMs, nowMs);
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

  /** Drops what has not been asked for in a long time. */
  collect(nowMs: number): void {
    this.#backoff.collect(nowMs);
  }
}
