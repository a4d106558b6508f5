// Announces changes of the node's devices at a bounded rate: each announcement leads to a write of the Node object, and a plugin
// decides how often a device changes its health. Upstream reads the devices every 10 s, whatever has changed.
// Invariant: every change is followed by an announcement, unless the kubelet stops.
import type { Channel } from '../../base/channel.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { TokenBucket } from '../../base/rate-limit.ts';

/** At once when plugins register, then no more often than upstream. */
const limits = { qps: 0.1, burst: 10 };
const retryMs = 1_000;

export class CapacityChanges {
  readonly #clock: Clock;
  readonly #changed: Channel<void>;
  readonly #limit: TokenBucket;
  #timer: Timer | undefined;

  constructor(clock: Clock, changed: Channel<void>) {
    this.#clock = clock;
    this.#changed = changed;
    this.#limit = new TokenBucket({ clock, ...limits });
  }

  announce(): void {
    if (this.#timer !== undefined) return;
    if (this.#limit.tryTake()) this.#changed.push();
    else
      this.#timer = this.#clock.setTimer(retryMs, () => {
        this.#timer = undefined;
        this.announce();
      });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
