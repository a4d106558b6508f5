// Releases devices that no volume of any pod uses any more. Normally the last pod's unmount releases a device; this finds the
// ones that a kubelet left behind when it was killed in between. Upstream: the orphaned device mounts of the reconciler.
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import type { VolumeOperationDeps } from '../operation-deps.ts';
import { releaseUnusedDevices } from './device-steps.ts';

interface UnusedDevicesDeps {
  readonly operations: VolumeOperationDeps;
  readonly log: Logger;
  readonly everyMs: number;
}

export class UnusedDevices implements Component {
  readonly name = 'unused-devices';
  readonly #deps: UnusedDevicesDeps;

  constructor(deps: UnusedDevicesDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return Promise.resolve({ stopped: this.#loop(signal) });
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { everyMs, log, operations } = this.#deps;
    while (!signal.aborted) {
      await operations.clock.sleep(everyMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      await releaseUnusedDevices(operations, signal).catch((err: unknown) => {
        if (!signal.aborted) log.error('Failed to release unused devices', { err });
      });
    }
  }
}
