// Builders for the tables of the eviction deciders: thresholds, figures of the node and loads of pods.
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import { podUid } from '../../src/api/pod/pod-ref.ts';
import type { ContainerLoad, DiskRoom, MemoryRoom, PodLoad } from '../../src/api/ports/node-usage.ts';
import type { VolumeUsage } from '../../src/api/ports/volume-stats.ts';
import { Quantity } from '../../src/api/quantity/quantity.ts';
import type { Observations } from '../../src/eviction/decide/observe.ts';
import type { Signal, Threshold, ThresholdValue } from '../../src/eviction/decide/thresholds.ts';
import { aContainer, aPod, type PodOver } from './builders.ts';

/** A quantity as a number: `100Mi` is 104857600. */
export function amount(text: string): number {
  return Number(Quantity.parse(text).value());
}

/** `10%` or a quantity. */
export function thresholdValue(text: string): ThresholdValue {
  if (!text.endsWith('%')) return { quantity: Quantity.parse(text) };
  return { percentage: Math.fround(Math.fround(Number(text.slice(0, -1))) / 100) };
}

export function aThreshold(
  signal: Signal,
  value: string,
  { graceMs = 0, reclaim }: { readonly graceMs?: number; readonly reclaim?: string } = {},
): Threshold {
  const minReclaim = reclaim === undefined ? {} : { minReclaim: thresholdValue(reclaim) };
  return { signal, value: thresholdValue(value), graceMs, ...minReclaim };
}

/** Signal to `available/capacity`, such as `100Mi/1Gi`; without a capacity it is unlimited for all purposes. */
export function someObservations(rows: Partial<Record<Signal, string>>, atMs = 1_000): Observations {
  const entries = Object.entries(rows) as [Signal, string][];
  return new Map(
    entries.map(([signal, text]) => {
      const [available = '0', capacity = '1Ti'] = text.split('/');
      return [signal, { available: amount(available), capacity: amount(capacity), atMs }];
    }),
  );
}

export function aDisk(over: Partial<DiskRoom> = {}): DiskRoom {
  return {
    atMs: 1_000,
    device: 'root',
    capacityBytes: 1000,
    availableBytes: 400,
    inodes: 100,
    inodesFree: 40,
    ...over,
  };
}

export function aMemoryRoom(over: Partial<MemoryRoom> = {}): MemoryRoom {
  return {
    atMs: 1_000,
    capacityBytes: 1000,
    usageBytes: 900,
    workingSetBytes: 700,
    availableBytes: 300,
    ...over,
  };
}

export function aContainerLoad(over: Partial<ContainerLoad> = {}): ContainerLoad {
  return {
    name: 'c',
    workingSetBytes: undefined,
    writtenBytes: undefined,
    writtenInodes: undefined,
    logBytes: 0,
    logInodes: 0,
    ...over,
  };
}

export function aVolumeUsage(over: Partial<VolumeUsage> = {}): VolumeUsage {
  return {
    name: 'local-volume',
    claim: undefined,
    isLocalEphemeral: true,
    sizeLimitBytes: undefined,
    measuredAtMs: 1_000,
    usedBytes: 0,
    capacityBytes: 0,
    availableBytes: 0,
    inodesUsed: 0,
    inodes: 0,
    inodesFree: 0,
    ...over,
  };
}

export function aPodLoad(pod: Pod, over: Partial<PodLoad> = {}): PodLoad {
  return {
    uid: podUid(pod),
    workingSetBytes: undefined,
    ephemeralBytes: undefined,
    ephemeralInodes: undefined,
    processes: undefined,
    containers: [],
    volumes: [],
    ...over,
  };
}

/** A pod of one container with these requests. */
export function aRequestingPod(
  name: string,
  requests: Record<string, string>,
  over: PodOver & { readonly container?: Partial<Container> } = {},
): Pod {
  const { container, ...rest } = over;
  return aPod({ name, containers: [aContainer({ resources: { requests }, ...container })], ...rest });
}
