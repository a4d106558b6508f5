// Wakes a caller when the kernel signals that memory of the machine or of a cgroup runs short, by the cgroup version.
// Upstream: pkg/kubelet/eviction/memory_threshold_notifier_linux.go, v1 only.
import { KubeletError } from '../../base/errors.ts';
import type { Hierarchies } from '../cgroup/hierarchies.ts';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { type PressureTrigger, watchPressure } from './pressure-trigger.ts';
import { type MemoryWatch, watchUsage } from './usage-threshold.ts';

interface MemoryWatchRequest {
  /** From the root of the hierarchy; `/` is the machine. */
  readonly cgroup: string;
  /** The usage whose crossing, in either direction, is signalled. Only v1: on v2 the kernel signals stalled tasks instead. */
  readonly usageBytes: number;
  /** Coalesced: one call may stand for several signals, and a signal may be spurious. */
  readonly onSignal: () => void;
  /** The watch ended by itself, because its cgroup was removed. Called once at most; the watch is closed. */
  readonly onEnd: (err: KubeletError) => void;
}

/** `triggers` replace the default ones, for tests. */
export function memoryPressure(hierarchies: Hierarchies | undefined, triggers?: readonly PressureTrigger[]) {
  return {
    /** Rejects once with the reason if this machine cannot signal. */
    watch: async ({ cgroup, ...request }: MemoryWatchRequest): Promise<MemoryWatch> => {
      if (hierarchies === undefined) throw unavailable('the machine has no cgroups');
      const syscalls = await loadSyscalls();
      const below = cgroup === '/' ? '' : cgroup;
      if (hierarchies.version === 2) {
        const path = below === '' ? '/proc/pressure/memory' : `${hierarchies.root}${below}/memory.pressure`;
        return { ...watchPressure(syscalls, { ...request, path, triggers }), rearm: () => undefined };
      }
      const memory = hierarchies.mountPoints.get('memory');
      if (memory === undefined) throw unavailable('the memory controller is not mounted');
      return watchUsage(syscalls, { ...request, directory: `${memory}${below}` });
    },
  };
}

function unavailable(why: string): KubeletError {
  return new KubeletError('unavailable', 'NoMemorySignals', `cannot watch memory: ${why}`);
}
