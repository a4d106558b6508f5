// Asks drivers again how many volumes they can attach, every nodeAllocatableUpdatePeriodSeconds of their CSIDriver.
// Invariant: one timer per registered driver with a period, and none for others; a driver that hangs delays no other.
// Upstream: pkg/volume/csi/csi_node_updater.go.
import type { CSIDriver } from '../api/k8s/types.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { isAbortOf } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';

interface AllocatableRefreshDeps {
  readonly drivers: {
    isRegistered(driver: string): boolean;
    refreshAllocatable(driver: string): Promise<void>;
    readonly changed: Subscribable<string>;
  };
  readonly csiDrivers: {
    knownCsiDriver(name: string): CSIDriver | undefined | 'unknown';
    readonly csiDriversChanged: Subscribable<string>;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

interface Schedule {
  readonly periodMs: number;
  readonly dueMs: number;
}

const parallel = 64;
/** The API's minimum, in case the API server does not enforce it. */
const leastPeriodMs = 10_000;

export class AllocatableRefresh implements Component {
  readonly name = 'csi-allocatable';
  readonly #deps: AllocatableRefreshDeps;
  readonly #queue: KeyedQueue<string>;
  readonly #schedules = new Map<string, Schedule>();

  constructor(deps: AllocatableRefreshDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue({
      clock: deps.clock,
      parallel,
      backoff: { initialMs: leastPeriodMs, maxMs: leastPeriodMs },
      run: (driver, signal) => this.#run(driver, signal),
    });
  }

  get wakes() {
    const { csiDrivers, drivers } = this.#deps;
    const wake = (driver: string): void => {
      if (drivers.isRegistered(driver) || this.#schedules.has(driver)) this.#queue.add(driver);
    };
    return [on(drivers.changed, wake), on(csiDrivers.csiDriversChanged, wake)];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  async #run(driver: string, signal: AbortSignal): Promise<void> {
    const { clock, drivers, log } = this.#deps;
    const periodMs = this.#periodMs(driver);
    if (periodMs === undefined) {
      this.#schedules.delete(driver);
      return;
    }
    const schedule = this.#schedules.get(driver);
    if (schedule?.periodMs !== periodMs) this.#schedule(driver, periodMs);
    else if (schedule.dueMs > clock.monotonic())
      this.#queue.addAfter(driver, schedule.dueMs - clock.monotonic());
    else {
      this.#schedule(driver, periodMs);
      try {
        await drivers.refreshAllocatable(driver);
      } catch (err) {
        if (!isAbortOf(err, signal)) log.error('Failed to update CSIDriver', { driver, err });
      }
    }
  }

  #schedule(driver: string, periodMs: number): void {
    this.#schedules.set(driver, { periodMs, dueMs: this.#deps.clock.monotonic() + periodMs });
    this.#queue.addAfter(driver, periodMs);
  }

  #periodMs(driver: string): number | undefined {
    const { csiDrivers, drivers } = this.#deps;
    const known = drivers.isRegistered(driver) ? csiDrivers.knownCsiDriver(driver) : undefined;
    const seconds = known === 'unknown' ? undefined : known?.spec.nodeAllocatableUpdatePeriodSeconds;
    return seconds === undefined || seconds <= 0 ? undefined : Math.max(seconds * 1000, leastPeriodMs);
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}
