// Computes a reservation for the system and Kubernetes daemons from the machine's size (--auto-reserve). Pure. No counterpart
// upstream; the shares of CPU and memory are those that managed clusters use.
// Invariant: a resource that the configuration reserves, even with 0, is left to it.
import type { MachineCapacity, ReservationSettings } from './node-allocatable.ts';

interface Explicit extends Pick<ReservationSettings, 'kubeReserved' | 'systemReserved'> {
  readonly reservedSystemCPUs: string;
}

const mebibyte = 1024n ** 2n;
const gibibyte = 1024n ** 3n;

/** Of so many bytes, this percentage; of the rest the last one. */
const memoryShares = [
  [4n * gibibyte, 25n],
  [4n * gibibyte, 20n],
  [8n * gibibyte, 10n],
  [112n * gibibyte, 6n],
] as const;
const restOfMemoryPercent = 2n;

/** Of so many cores, this number of tenths of a millicore each; of the rest the last one. */
const cpuShares = [
  [1, 600],
  [1, 100],
  [2, 50],
] as const;
const restOfCpuShare = 25;

const mostStorageBytes = 10n * gibibyte;
const mostProcesses = 1_000n;

/** Quantities by resource name; none for a resource that the configuration reserves or whose capacity is unknown. */
export function computeAutoReserve(
  machine: MachineCapacity,
  { kubeReserved, reservedSystemCPUs, systemReserved }: Explicit,
): Readonly<Record<string, string>> {
  const { maxProcesses, storageBytes } = machine;
  const explicit = new Set([
    ...Object.keys(kubeReserved),
    ...Object.keys(systemReserved),
    ...(reservedSystemCPUs === '' ? [] : ['cpu']),
  ]);
  const amounts = {
    cpu: `${cpuShare(machine.cpus)}m`,
    memory: mebibytes(memoryShare(machine.memoryBytes)),
    ...(storageBytes !== undefined && {
      'ephemeral-storage': mebibytes(least(storageBytes / 10n, mostStorageBytes)),
    }),
    ...(maxProcesses !== undefined && { pid: `${least(maxProcesses / 10n, mostProcesses)}` }),
  };
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => !explicit.has(name)));
}

function memoryShare(bytes: bigint): bigint {
  let [left, reserved] = [bytes, 0n];
  for (const [size, percent] of memoryShares) {
    const part = least(left, size);
    reserved += (part * percent) / 100n;
    left -= part;
  }
  return reserved + (left * restOfMemoryPercent) / 100n;
}

/** Rounded up to whole millicores. */
function cpuShare(cpus: number): number {
  let [left, tenths] = [cpus, 0];
  for (const [cores, share] of cpuShares) {
    const part = Math.min(left, cores);
    tenths += part * share;
    left -= part;
  }
  return Math.ceil((tenths + left * restOfCpuShare) / 10);
}

function mebibytes(bytes: bigint): string {
  return `${bytes / mebibyte}Mi`;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
