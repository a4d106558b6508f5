// Checks once, before pods arrive, that the machine fits the configuration: rejects reservations it cannot hold, warns about
// cgroup v1 and swap. Upstream: validateNodeAllocatable and NewContainerManager in pkg/kubelet/cm, cgroupVersionCheck in
// kubelet_linux.go. Holds no state.

import type { EventSink } from '../../api/ports/events.ts';
import { parseCpuList } from '../../api/quantity/cpu-list.ts';
import type { ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Component } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import { reservationFault } from './node-allocatable.ts';

interface NodeChecksDeps {
  readonly budget: { capacity(): ResourceAmounts; reservation(): ResourceAmounts };
  readonly machine: {
    readonly cgroupVersion: 1 | 2;
    readonly swapBytes?: bigint;
    /** As uname reports it: 6.1.0-31-amd64. */
    readonly kernelRelease?: string;
    /** As the kernel lists them; empty if unknown. */
    readonly onlineCpus?: string;
  };
  /** reservedSystemCPUs; empty if none. */
  readonly reservedCpus: string;
  readonly events: Pick<EventSink, 'node'>;
}

/** The first Linux release whose tmpfs has the noswap option. */
const noswapSince = [6, 4] as const;

export class NodeChecks implements Component {
  readonly name = 'node-checks';
  readonly #deps: NodeChecksDeps;

  constructor(deps: NodeChecksDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { budget, events, machine, reservedCpus } = this.#deps;
    const { cgroupVersion, kernelRelease = '', onlineCpus = '', swapBytes = 0n } = machine;
    const [capacity, reservation] = [budget.capacity(), budget.reservation()];
    if (!isWithin(reservedCpus, onlineCpus))
      throw new KubeletError(
        'invalid',
        'ReservedCPUs',
        `reserved-cpus: ${reservedCpus} is not a subset of online-cpus: ${onlineCpus}`,
      );
    const fault = reservationFault(capacity, reservation);
    if (fault !== undefined) throw new KubeletError('invalid', 'NodeAllocatable', fault);
    if (cgroupVersion === 1)
      events.node({
        type: 'Warning',
        reason: 'CgroupV1',
        message: 'cgroup v1 support is in maintenance mode, please migrate to cgroup v2',
      });
    if (swapBytes > 0n && !canKeepOutOfSwap(kernelRelease))
      events.node({
        type: 'Warning',
        reason: 'PossibleMemoryBackedVolumesOnDisk',
        message:
          'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) ' +
          'might be swapped to disk and should no longer be considered secure.',
      });
    return { stopped: untilAborted(signal) };
  }
}

/**
 * differs from upstream: decided by the kernel's version, where upstream tries a mount. An older distribution kernel with
 * a backported option is warned about.
 */
export function canKeepOutOfSwap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = (kernelRelease.match(/\d+/g) ?? []).map(Number);
  return major > noswapSince[0] || (major === noswapSince[0] && minor >= noswapSince[1]);
}

function isWithin(list: string, all: string): boolean {
  if (all === '') return true;
  const cpus = new Set(parseCpuList(all));
  return parseCpuList(list).every((cpu) => cpus.has(cpu));
}
