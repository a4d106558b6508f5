// Facts about the machine and the runtime for /metrics/cadvisor. Each is read once, on first use.
import type { CriRuntime } from '../api/cri/runtime.ts';
import type { CpuTopology } from '../api/ports/host-usage.ts';
import { memoizeAsync } from '../base/memoize-async.ts';
import type { MachineEntry } from './cadvisor/cadvisor-entry.ts';

interface MachineSources {
  readonly identity: () => Promise<{
    readonly bootID: string;
    readonly kernelVersion: string;
    readonly machineID: string;
    readonly osImage: string;
    readonly swapBytes: number;
    readonly systemUUID: string;
  }>;
  readonly topology: () => Promise<CpuTopology>;
  readonly memoryBytes: number;
}

export function machineInfo({
  identity,
  memoryBytes,
  topology,
}: MachineSources): () => Promise<MachineEntry> {
  return memoizeAsync(async () => {
    const { bootID, kernelVersion, machineID, osImage, swapBytes, systemUUID } = await identity();
    return {
      bootId: bootID,
      machineId: machineID,
      systemUuid: systemUUID,
      ...(await topology()),
      memoryBytes,
      swapBytes,
      kernelVersion,
      osVersion: osImage,
    };
  });
}

const responseTimeoutMs = 2_000;

/** The image of sandboxes, empty if the runtime does not answer or does not name one. */
export function sandboxImage(cri: Pick<CriRuntime, 'status'>): () => Promise<string> {
  const load = memoizeAsync(async () => {
    const { info } = await cri.status({ verbose: true }, { timeoutMs: responseTimeoutMs });
    return /"sandboxImage":\s*"([^"]+)"/.exec(info['config'] ?? '')?.[1] ?? '';
  });
  return () => load().catch(() => '');
}
