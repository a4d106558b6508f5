// Checks once, before pods arrive, that the machine fits the configuration: rejects reservations it cannot hold, warns about
// cgroup v1 and swap. Upstream: validateNodeAllocatable and NewContainerManager in pkg/kubelet/cm, cgroupVersionCheck in
// kubelet_linux.go. Holds no state.

import type { EventSink } from '../../api/ports/events.ts';
import { parseCpuList } from '../../api/quantity/cpu-list.ts';
import type { ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Component } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { reservationFault } from './node-allocatable.ts';

interface NodeChecksDeps {
  readonly budget: {
    capacity(): ResourceAmounts;
    reservation(): ResourceAmounts;
    autoReserved(): Readonly<Record<string, string>>;
  };
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
  /** The gate MemoryQoS. */
  readonly memoryQos: boolean;
  readonly events: Pick<EventSink, 'node'>;
  readonly log: Logger;
}

/** The first Linux release whose tmpfs has the noswap option. */
const noswapSince = [6, 4] as const;
/** The first Linux release in which throttling by memory.high cannot livelock. */
const throttlingSince = [5, 9] as const;

export class NodeChecks implements Component {
  readonly name = 'node-checks';
  readonly #deps: NodeChecksDeps;

  constructor(deps: NodeChecksDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { budget, events, log, machine, reservedCpus } = this.#deps;
    const { cgroupVersion, kernelRelease = '', onlineCpus = '', swapBytes = 0n } = machine;
    const [capacity, reservation] = [budget.capacity(), budget.reservation()];
    const missing = reservedCpusFault(reservedCpus, onlineCpus);
    if (missing !== undefined) throw new KubeletError('invalid', 'ReservedCPUs', missing);
    const fault = reservationFault(capacity, reservation);
    if (fault !== undefined) throw new KubeletError('invalid', 'NodeAllocatable', fault);
    const auto = budget.autoReserved();
    if (Object.keys(auto).length > 0)
      log.info("Reserved resources according to the machine's size", { ...auto });
    if (cgroupVersion === 1)
      events.node({
        type: 'Warning',
        reason: 'CgroupV1',
        message:
          'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to ' +
          'cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1',
      });
    this.#checkMemoryQos();
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

  #checkMemoryQos(): void {
    const { log, machine, memoryQos } = this.#deps;
    const { cgroupVersion, kernelRelease = '' } = machine;
    if (!memoryQos) return;
    if (cgroupVersion === 1) log.info('MemoryQoS has no effect on cgroup v1');
    else if (kernelRelease !== '' && !isAtLeast(kernelRelease, throttlingSince))
      log.warn('Throttling by memory.high may livelock processes on this kernel', {
        kernelRelease,
        minimum: throttlingSince.join('.'),
      });
  }
}

/** Why these CPUs cannot be reserved; undefined if they can. */
export function reservedCpusFault(reserved: string, online: string): string | undefined {
  return isWithin(reserved, online)
    ? undefined
    : `reserved-cpus: ${reserved} is not a subset of online-cpus: ${online}`;
}

/**
 * differs from upstream: decided by the kernel's version, where upstream tries a mount. An older distribution kernel with
 * a backported option is warned about.
 */
export function canKeepOutOfSwap(kernelRelease: string): boolean {
  return isAtLeast(kernelRelease, noswapSince);
}

function isAtLeast(kernelRelease: string, [wantedMajor, wantedMinor]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = (kernelRelease.match(/\d+/g) ?? []).map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

function isWithin(list: string, all: string): boolean {
  if (all === '') return true;
  const cpus = new Set(parseCpuList(all));
  return parseCpuList(list).every((cpu) => cpus.has(cpu));
}
