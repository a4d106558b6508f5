// Reads the health of volumes and of storage from every registered CSI driver, once per period. Sole writer of VolumeHealth.
// Invariants: a driver that hangs delays no other, and its volumes do not delay its storage; a driver has one call in progress for
// its storage and a few for its volumes; nothing runs without registered drivers.
// Upstream: pkg/kubelet/volumemanager/volumehealth/manager.go, one round over all drivers.
import type { CsiDrivers } from '../../api/ports/csi.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, type LoopLoad, on } from '../../base/component.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { sumLoads } from '../../base/loop-load.ts';
import { probeStorage, publishStorageHealth, type StorageProbeDeps } from './probe-storage.ts';
import { probeVolumes, type VolumeProbeDeps } from './probe-volumes.ts';

interface VolumeHealthLoopDeps extends VolumeProbeDeps, StorageProbeDeps {
  readonly drivers: CsiDrivers;
  /** 0 or less: a minute. */
  readonly periodMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly clock: Clock;
}

const defaultPeriodMs = 60_000;
/** Of the period, to either side, so that the drivers of a node and the nodes of a cluster do not stay in step. */
const jitter = 0.1;
/** More than the drivers of any node. */
const parallel = 64;

export class VolumeHealthLoop implements Component {
  readonly name = 'volume-health';
  readonly #deps: VolumeHealthLoopDeps;
  /** Both by driver. */
  readonly #volumes: KeyedQueue<string>;
  readonly #storage: KeyedQueue<string>;
  /** The drivers of which neither CSINode nor the metric has conditions. */
  readonly #withdrawn = new Set<string>();

  constructor(deps: VolumeHealthLoopDeps) {
    this.#deps = deps;
    this.#volumes = this.#queue((driver, signal) => this.#probeVolumes(driver, signal));
    this.#storage = this.#queue((driver, signal) => this.#probeStorage(driver, signal));
  }

  get wakes() {
    return [on(this.#deps.drivers.changed, (driver) => this.#onDriver(driver))];
  }

  loopLoad(): LoopLoad {
    return sumLoads([this.#volumes.load(), this.#storage.load()]);
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    for (const driver of this.#deps.drivers.names()) this.#onDriver(driver);
    this.#volumes.start();
    this.#storage.start();
    return { stopped: this.#stopAfter(signal) };
  }

  /** A driver that was deregistered keeps its turn, since it may only be restarting. */
  #onDriver(driver: string): void {
    if (this.#deps.drivers.get(driver) === undefined) return;
    this.#storage.add(driver);
    this.#volumes.add(driver);
  }

  /** `run` resolves to false when the driver needs no further turn. */
  #queue(run: (driver: string, signal: AbortSignal) => Promise<boolean>): KeyedQueue<string> {
    const { clock, log, random } = this.#deps;
    const queue = new KeyedQueue<string>({
      clock,
      parallel,
      backoff: { initialMs: defaultPeriodMs, maxMs: defaultPeriodMs },
      run: async (driver, signal) => {
        if (!(await run(driver, signal))) return;
        const { periodMs } = this.#deps;
        const meanMs = periodMs > 0 ? periodMs : defaultPeriodMs;
        queue.addAfter(driver, meanMs * (1 + jitter * (2 * random() - 1)));
      },
      onError: (driver, err) => log.error('Failed to read the health of volumes', { driver, err }),
    });
    return queue;
  }

  async #probeVolumes(driver: string, signal: AbortSignal): Promise<boolean> {
    const { drivers, health } = this.#deps;
    const client = drivers.get(driver);
    if (client !== undefined) await probeVolumes(this.#deps, client, signal);
    else health.retain(driver, () => false);
    return client !== undefined;
  }

  /** differs from upstream: conditions of a driver that does not report any longer, or is gone, would stay forever. */
  async #probeStorage(driver: string, signal: AbortSignal): Promise<boolean> {
    const client = this.#deps.drivers.get(driver);
    const isSupported = client === undefined ? false : await probeStorage(this.#deps, client, signal);
    if (isSupported === true) this.#withdrawn.delete(driver);
    if (isSupported === false && !this.#withdrawn.has(driver)) {
      const isPublished = await publishStorageHealth(this.#deps, driver, [], signal);
      if (isPublished) this.#withdrawn.add(driver);
    }
    return client !== undefined || !this.#withdrawn.delete(driver);
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    for (const queue of [this.#volumes, this.#storage]) queue.abortAll();
    await Promise.all([this.#volumes.stop(), this.#storage.stop()]);
  }
}
