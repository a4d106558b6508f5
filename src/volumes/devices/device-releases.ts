// Releases the devices that no volume of a pod uses any more: after the last pod's unmount, and those that a kubelet left behind
// when it was killed in between. Upstream: the unmountDetachDevices step of the reconciler.
// Invariants: one release per device at a time, under the lock of the device; a release that hangs or fails delays no other, and
// is repeated with backoff, or at once when its driver registers.
import { untilAborted } from '../../base/abort/race-abort.ts';
import { type Component, type LoopLoad, on } from '../../base/component.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import type { VolumeOperationDeps } from '../operation-deps.ts';
import { observeOperation } from '../volume-metrics-port.ts';

interface DeviceReleasesDeps {
  readonly operations: VolumeOperationDeps;
  readonly log: Logger;
}

const parallel = 64;
const backoff = { initialMs: 500, maxMs: 122_000 };
/** The record of devices is read again after a failure. */
const loadRetryMs = 5_000;

export class DeviceReleases implements Component {
  readonly name = 'device-releases';
  readonly wakes;
  readonly #deps: DeviceReleasesDeps;
  readonly #queue: KeyedQueue<string>;
  readonly #failed = new Set<string>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(deps: DeviceReleasesDeps) {
    const { clock, plugins } = deps.operations;
    this.#deps = deps;
    this.#queue = new KeyedQueue({
      clock,
      parallel,
      backoff,
      run: (key, signal) => this.#release(key, signal),
      onError: (key, err, retryInMs) => {
        this.#failed.add(key);
        deps.log.warn('Failed to release device', { device: key, retryInMs, err });
      },
    });
    this.wakes = plugins.flatMap(({ prerequisite }) =>
      prerequisite === undefined ? [] : [on(prerequisite.changed, () => this.#retry())],
    );
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    const loading = this.#load(signal);
    const stop = async (): Promise<void> => {
      await loading;
      this.#queue.abortAll();
      await this.#queue.stop();
    };
    return Promise.resolve({ stopped: untilAborted(signal).then(stop) });
  }

  /** The device may be unused now. Resolves after one attempt, at the latest after graceMs: further ones follow in the background. */
  async releaseUnused(key: string, graceMs: number): Promise<void> {
    const { clock, users } = this.#deps.operations;
    if (users.isUsed(key) || users.pluginOf(key) === undefined) return;
    const ended = new AbortController();
    const attempted = new Promise<void>((resolve) => {
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), resolve]);
    });
    this.#queue.add(key);
    await Promise.race([attempted, clock.sleep(graceMs, ended.signal).catch(() => undefined)]);
    ended.abort();
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { log, operations } = this.#deps;
    const { clock, users } = operations;
    while (!signal.aborted) {
      try {
        await users.load();
        for (const key of users.unused()) this.#queue.add(key);
        return;
      } catch (err) {
        log.error('Failed to read which devices are in use', { err, retryInMs: loadRetryMs });
        await clock.sleep(loadRetryMs, signal).catch(() => undefined);
      }
    }
  }

  async #release(key: string, signal: AbortSignal): Promise<void> {
    const { locks, users } = this.#deps.operations;
    try {
      await locks.run(key, signal, async () => {
        const plugin = users.pluginOf(key);
        if (plugin === undefined || users.isUsed(key)) return;
        const { name, nodeDevices } = plugin;
        const isBlock = (await nodeDevices.isBlock?.(key)) === true;
        const operation = {
          plugin: nodeDevices.label?.(key) ?? name,
          operation: isBlock ? 'unmap_device' : 'unmount_device',
        } as const;
        await observeOperation(this.#deps.operations, operation, () => nodeDevices.release(key, signal));
        users.released(key);
      });
      this.#failed.delete(key);
    } finally {
      const waiting = this.#waiting.get(key) ?? [];
      this.#waiting.delete(key);
      for (const resolve of waiting) resolve();
    }
  }

  #retry(): void {
    for (const key of this.#failed) {
      this.#queue.forget(key);
      this.#queue.add(key);
    }
  }
}
