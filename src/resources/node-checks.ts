// Looks once, before pods arrive, whether the node can be what the configuration says. Upstream: validateNodeAllocatable and
// NewContainerManager in pkg/kubelet/cm. Holds no state.
import { parseCpuList } from '../api/cpu-list.ts';
import type { EventSink } from '../api/events.ts';
import type { ResourceAmounts } from '../api/resource-amounts.ts';
import type { Component } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { untilAborted } from '../base/race-abort.ts';
import { reservationFault } from './node-allocatable.ts';

export interface NodeChecksDeps {
  readonly capacity: ResourceAmounts;
  readonly reservation: ResourceAmounts;
  /** reservedSystemCPUs; empty: none. */
  readonly reservedCpus: string;
  /** As the kernel lists them; empty: not known. */
  readonly onlineCpus: string;
  readonly swapBytes: bigint;
  /** As uname says it: 6.1.0-31-amd64. */
  readonly kernelRelease: string;
  readonly events: Pick<EventSink, 'node'>;
}

/** From this one on a file system in memory can be kept out of swap. */
const noswapSince = [6, 4] as const;

export class NodeChecks implements Component {
  readonly name = 'node-checks';
  readonly #deps: NodeChecksDeps;

  constructor(deps: NodeChecksDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { capacity, events, kernelRelease, onlineCpus, reservation, reservedCpus, swapBytes } = this.#deps;
    if (!isWithin(reservedCpus, onlineCpus))
      throw new KubeletError(
        'invalid',
        'ReservedCPUs',
        `reserved-cpus: ${reservedCpus} is not a subset of online-cpus: ${onlineCpus}`,
      );
    const fault = reservationFault(capacity, reservation);
    if (fault !== undefined) throw new KubeletError('invalid', 'NodeAllocatable', fault);
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
 * differs from upstream: by the kernel's version alone; an older kernel of a distribution that has the option all the same
 * is warned of, where upstream tries a mount.
 */
export function canKeepOutOfSwap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = (kernelRelease.match(/\d+/g) ?? []).map(Number);
  return major > noswapSince[0] || (major === noswapSince[0] && minor >= noswapSince[1]);
}

function isWithin(list: string, all: string): boolean {
  if (all === '') return true;
  const there = new Set(parseCpuList(all));
  return parseCpuList(list).every((cpu) => there.has(cpu));
}
