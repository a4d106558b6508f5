// The current value of each eviction signal. Pure.
// Invariant: a signal without a figure is absent, so that nothing is evicted for it.
// Upstream: makeSignalObservations in pkg/kubelet/eviction/helpers.go.
import type { DiskRoom, MemoryRoom, NodeSignals } from '../../api/ports/node-usage.ts';
import type { Signal } from './thresholds.ts';

export interface Observation {
  readonly available: number;
  /** Percentages refer to it. */
  readonly capacity: number;
  /** When it was measured, by the wall clock; 0 if unknown. */
  readonly atMs: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

interface ObserveOptions {
  /** `MemAvailable`: the kernel's own estimate, for which the page cache is available. It applies to memory.available only. */
  readonly memorySource: 'WorkingSet' | 'MemAvailable';
}

export function observe(signals: NodeSignals, options: ObserveOptions): Observations {
  const { memory, podMemory, processes } = signals;
  const kernel = signals.kernelAvailableBytes;
  const available = options.memorySource === 'MemAvailable' ? kernel : memory?.availableBytes;
  const rows: readonly (readonly [Signal, Observation | undefined])[] = [
    ['memory.available', ofMemory(memory, available)],
    ['allocatableMemory.available', ofMemory(podMemory, podMemory?.availableBytes)],
    ['nodefs.available', ofBytes(signals.nodeFs)],
    ['nodefs.inodesFree', ofInodes(signals.nodeFs)],
    ['imagefs.available', ofBytes(signals.imageFs)],
    ['imagefs.inodesFree', ofInodes(signals.imageFs)],
    ['containerfs.available', ofBytes(signals.containerFs)],
    ['containerfs.inodesFree', ofInodes(signals.containerFs)],
    ['pid.available', processes && figure(processes.max - processes.current, processes.max, processes.atMs)],
  ];
  return new Map(
    rows.flatMap(([signal, observation]) => (observation === undefined ? [] : [[signal, observation]])),
  );
}

function ofMemory(room: MemoryRoom | undefined, available: number | undefined): Observation | undefined {
  if (room === undefined || available === undefined) return undefined;
  return figure(available, room.capacityBytes, room.atMs);
}

function ofBytes(room: DiskRoom | undefined): Observation | undefined {
  return room && figure(room.availableBytes, room.capacityBytes, room.atMs);
}

/** differs from upstream: a file system without a fixed number of inodes (btrfs) has no such signal, instead of 0 free inodes. */
function ofInodes(room: DiskRoom | undefined): Observation | undefined {
  if (room === undefined || room.inodes === 0) return undefined;
  return figure(room.inodesFree, room.inodes, room.atMs);
}

/** differs from upstream: never below 0, where upstream's unsigned subtraction wraps to a huge amount. */
function figure(available: number, capacity: number, atMs: number): Observation | undefined {
  if (!Number.isFinite(available) || !Number.isFinite(capacity)) return undefined;
  return { available: Math.max(0, Math.trunc(available)), capacity: Math.trunc(capacity), atMs };
}
