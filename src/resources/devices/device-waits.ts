// Pods that wait for a device plugin after a restart of the kubelet or the node, each with a deadline.
// differs from upstream, which rejects such pods for good (kubernetes issues 125579, 133382).
// Invariants: a pod waits at most `waitMs` from the first question on; it is announced whenever its wait may be over.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { Channel } from '../../base/channel.ts';
import type { Clock, Timer } from '../../base/clock.ts';

export interface DeviceWait {
  readonly reason: 'WaitingForDevicePlugin';
  readonly message: string;
  /** Wall clock: when the pod is no longer held back. */
  readonly untilMs: number;
}

/** Why a pod cannot be admitted yet. */
export interface MissingDevices {
  readonly resource: string;
  readonly message: string;
  /** On the monotonic clock: until when this reason holds at most. */
  readonly untilMs: number;
}

interface Waiting {
  readonly deadlineMs: number;
  resource: string | undefined;
  timer: Timer | undefined;
}

export class DeviceWaits {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #wake: Channel<PodUid>;
  readonly #pods = new Map<PodUid, Waiting>();

  constructor(clock: Clock, waitMs: number, wake: Channel<PodUid>) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#wake = wake;
  }

  /** Undefined if nothing is missing, or the pod has waited long enough. */
  check(uid: PodUid, missing: MissingDevices | undefined): DeviceWait | undefined {
    const nowMs = this.#clock.monotonic();
    const known = this.#pods.get(uid);
    known?.timer?.cancel();
    if (missing === undefined) {
      // The deadline of an admitted pod is not needed any more; that of a pod which still waits stays.
      this.#pods.delete(uid);
      return undefined;
    }
    const waiting = known ?? {
      deadlineMs: nowMs + this.#waitMs,
      resource: undefined,
      timer: undefined,
    };
    this.#pods.set(uid, waiting);
    const leftMs = Math.min(waiting.deadlineMs, missing.untilMs) - nowMs;
    waiting.resource = leftMs > 0 ? missing.resource : undefined;
    waiting.timer = undefined;
    if (leftMs <= 0) return undefined;
    waiting.timer = this.#clock.setTimer(leftMs, () => this.#wake.push(uid));
    const untilMs = this.#clock.now() + leftMs;
    return { reason: 'WaitingForDevicePlugin', message: missing.message, untilMs };
  }

  /** A plugin of the resource registered or reported its devices. */
  announce(resource: string): void {
    const uids = [...this.#pods].filter(([, waiting]) => waiting.resource === resource);
    for (const [uid] of uids) this.#wake.push(uid);
  }

  announceAll(): void {
    for (const uid of this.#pods.keys()) this.#wake.push(uid);
  }

  forget(uid: PodUid): void {
    this.#pods.get(uid)?.timer?.cancel();
    this.#pods.delete(uid);
  }

  stop(): void {
    for (const { timer } of this.#pods.values()) timer?.cancel();
    this.#pods.clear();
  }
}
