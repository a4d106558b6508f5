// The stats edge of a machine without cgroups, for kubelets in memory: usage of containers comes from the runtime only.
import type { StatsEdge } from '../../src/assemble/input.ts';

export const fakeSpace = {
  capacityBytes: 100_000,
  availableBytes: 60_000,
  usedBytes: 40_000,
  inodes: 1_000,
  inodesFree: 900,
};

export const fakeStatsEdge: StatsEdge = {
  cgroups: undefined,
  bootedAtMs: Date.UTC(2026, 10, 15, 11),
  pause: () => Promise.resolve(),
  own: {
    version: 'v0',
    read: () => ({
      cpuSeconds: 1.5,
      residentBytes: 1,
      virtualBytes: 2,
      virtualMaxBytes: 3,
      openFiles: 4,
      maxFiles: 5,
      startedAtSeconds: 6,
      receivedBytes: 7,
      sentBytes: 8,
      heapTotalBytes: 9,
      heapUsedBytes: 10,
      externalBytes: 11,
      loopUtilization: 0.5,
      loopDelay: undefined,
    }),
    load: () => ({ cpuSeconds: 1.5, residentBytes: 1, heapUsedBytes: 10, openFiles: 4 }),
    watchCollections: () => undefined,
    close: () => undefined,
  },
  host: {
    interfaces: () => [],
    defaultInterface: () => undefined,
    tasks: () => ({ max: 32_768, current: 7 }),
    processDetails: () => ({ descriptors: 0, sockets: 0 }),
    softOpenFiles: () => undefined,
    deviceFileSystems: () => Promise.resolve([]),
    space: () => Promise.resolve(fakeSpace),
    room: () => Promise.resolve({ ...fakeSpace, device: '1' }),
    availableMemoryBytes: () => 7_000_000_000,
    filesIn: () => Promise.resolve({ bytes: 4096, inodes: 1 }),
    file: () => Promise.resolve(undefined),
    ownCgroup: () => undefined,
    topology: async () => ({ cores: 2, physicalCores: 1, sockets: 1 }),
  },
};
