// Bounds what ListAndWatch delivers: the length of a list, and how often a new one takes effect.
// Invariants: the latest list always takes effect, after `intervalMs` at the latest; a stopped stream delivers nothing more.
import type { PluginDevice } from '../../api/ports/device-plugins.ts';
import type { Clock, Timer } from '../../base/clock.ts';

const mostDevices = 10_000;
const longestId = 1_024;
const mostNodes = 64;
/** Between two lists beyond the first ones. */
const intervalMs = 250;
const burst = 4;
/** A list costs its decoding even if it is dropped: so many devices are read per millisecond. */
const readPerMs = 50;
/** Of a list without devices. */
const leastRead = 10;
const readAheadMs = 500;

/** The devices within the bounds. Of several devices with one ID the last counts, as upstream. */
export function computeDeviceList(list: readonly PluginDevice[]): {
  readonly devices: readonly PluginDevice[];
  readonly ignored: number;
} {
  const devices = new Map<string, PluginDevice>();
  let ignored = 0;
  for (const device of list) {
    const { id, numaNodes = [] } = device;
    const isFull = devices.size >= mostDevices && !devices.has(id);
    if (isFull || id === '' || id.length > longestId || numaNodes.length > mostNodes) ignored += 1;
    else devices.set(id, device);
  }
  return { devices: [...devices.values()], ignored };
}

/** Delays the reading of a stream that delivers more devices than the kubelet can process beside its other work. */
export class ReadPace {
  readonly #clock: Clock;
  #busyUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async read(devices: number, signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonic();
    this.#busyUntilMs = Math.max(this.#busyUntilMs, nowMs) + (devices + leastRead) / readPerMs;
    const waitMs = this.#busyUntilMs - nowMs - readAheadMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
  }
}

export class CoalescedLists {
  readonly #clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  readonly #apply: (devices: readonly PluginDevice[]) => void;
  #latest: readonly PluginDevice[] | undefined;
  #timer: Timer | undefined;
  /** When the list after the next one would take effect if each waited for the interval. */
  #nextMs = 0;
  #isStopped = false;

  constructor(
    clock: Pick<Clock, 'setTimer' | 'monotonic'>,
    apply: (devices: readonly PluginDevice[]) => void,
  ) {
    this.#clock = clock;
    this.#apply = apply;
  }

  push(devices: readonly PluginDevice[]): void {
    this.#latest = devices;
    if (this.#isStopped || this.#timer !== undefined) return;
    const waitMs = this.#nextMs - burst * intervalMs - this.#clock.monotonic();
    if (waitMs < 0) this.#deliver();
    else this.#timer = this.#clock.setTimer(Math.max(waitMs, intervalMs), () => this.#deliver());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #deliver(): void {
    this.#timer = undefined;
    const devices = this.#latest;
    this.#latest = undefined;
    this.#nextMs = Math.max(this.#nextMs, this.#clock.monotonic()) + intervalMs;
    if (devices !== undefined) this.#apply(devices);
  }
}
