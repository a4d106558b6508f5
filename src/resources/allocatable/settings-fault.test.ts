import { expect, test } from 'vitest';
import { settingsFault } from './settings-fault.ts';

const gib = 1024n ** 3n;
const machine = {
  capacity: {
    cpus: 4,
    memoryBytes: 8n * gib,
    storageBytes: 100n * gib,
    hugePages: [],
    maxProcesses: undefined,
  },
  topology: {
    nodes: [{ id: 0, threads: [], memoryBytes: 8n * gib, hugePages: [], distances: [10], caches: [] }],
  },
};
const config = {
  kubeReserved: { memory: '1Gi' },
  systemReserved: {},
  evictionHard: { 'memory.available': '1Gi' },
  reservedSystemCPUs: '',
  maxPods: 110,
  podsPerCore: 0,
  enforceNodeAllocatable: ['pods'],
  systemReservedCgroup: '',
  kubeReservedCgroup: '',
  memoryManagerPolicy: 'None',
  reservedMemory: [],
};
const flags = { experimentalAllocatableIgnoreEviction: false, autoReserve: false };
const bound = {
  ...config,
  memoryManagerPolicy: 'Static',
  reservedMemory: [{ numaNode: 0, limits: { memory: '2Gi' } }],
};

test.each([
  ['a reservation that fits', config, undefined],
  [
    'a threshold above the memory',
    { ...config, evictionHard: { 'memory.available': '4Ti' } },
    /Expected capacity >= reservation/,
  ],
  [
    'a threshold above the disk',
    { ...config, evictionHard: { 'nodefs.available': '1Ti' } },
    /Expected capacity >= reservation/,
  ],
  ['memory that NUMA nodes reserve', bound, undefined],
  [
    'a threshold that they do not add up to',
    { ...bound, evictionHard: { 'memory.available': '2Gi' } },
    /"2Gi" of type "memory" is not equal to the value "3Gi"/,
  ],
  ['the same without the memory manager', { ...bound, memoryManagerPolicy: 'None' }, undefined],
] as const)('%s', (_, settings, want) => {
  const fault = settingsFault(settings, flags, machine);
  if (want === undefined) expect(fault).toBeUndefined();
  else expect(fault).toMatch(want);
});

test('a threshold that is not subtracted cannot be too large', () => {
  const huge = { ...config, evictionHard: { 'memory.available': '4Ti' } };
  expect(
    settingsFault(huge, { ...flags, experimentalAllocatableIgnoreEviction: true }, machine),
  ).toBeUndefined();
});
