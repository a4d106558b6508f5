import { expect, test } from 'vitest';
import { podCgroupPolicy, podsCgroup, podsCpus, qosPolicy } from './cgroup-policies.ts';

const gates = { MemoryQoS: true, PodLevelResources: true, QOSReserved: true };
const qos = (memory: string, over: Partial<typeof gates> = {}, version: 1 | 2 = 2, policy = 'None') =>
  qosPolicy(
    {
      qosReserved: { memory },
      memoryReservationPolicy: policy,
      allocatableMemoryBytes: 1n,
      hugePageSizes: [],
    },
    { ...gates, ...over },
    version,
  );

test('places the cgroup of all pods below cgroupRoot', () => {
  expect([podsCgroup('/'), podsCgroup('/a/b')]).toEqual([['kubepods'], ['a', 'b', 'kubepods']]);
});

test('reserves memory by percent, only with the gate QOSReserved', () => {
  expect([
    qos('50%').memoryReservePercent,
    qos('50').memoryReservePercent,
    qos('50%', { QOSReserved: false }).memoryReservePercent,
  ]).toEqual([50n, undefined, undefined]);
});

test('enables MemoryQoS on cgroup v2 only', () => {
  expect([qos('').memoryQos, qos('', {}, 1).memoryQos]).toEqual([true, false]);
});

test('reserves memory with TieredReservation, MemoryQoS and cgroup v2 only', () => {
  const reserves = (...rest: readonly [Partial<typeof gates>, 1 | 2, string]): boolean =>
    qos('', ...rest).reservesMemory;
  expect([
    reserves({}, 2, 'None'),
    reserves({}, 2, 'TieredReservation'),
    reserves({}, 1, 'TieredReservation'),
    reserves({ MemoryQoS: false }, 2, 'TieredReservation'),
  ]).toEqual([false, true, false, false]);
});

test('throttles pods with a factor, MemoryQoS and cgroup v2 only', () => {
  const factor = (memoryThrottlingFactor: number | undefined, MemoryQoS: boolean, version: 1 | 2) =>
    podCgroupPolicy(
      {
        cpuCFSQuota: true,
        cpuCFSQuotaPeriod: { ns: 100_000_000n },
        podPidsLimit: -1,
        memoryReservationPolicy: 'None',
        memoryThrottlingFactor,
      },
      { ...gates, MemoryQoS },
      version,
    ).throttlingFactor;
  expect([
    factor(0.9, true, 2),
    factor(undefined, true, 2),
    factor(0.9, false, 2),
    factor(0.9, true, 1),
  ]).toEqual([0.9, undefined, undefined, undefined]);
});

const cpus = [
  ['systemd', 'none', 2, '0-3'],
  ['systemd', 'static', 2, ''],
  ['systemd', 'none', 1, ''],
  ['cgroupfs', 'none', 2, ''],
] as const;
for (const [cgroupDriver, cpuManagerPolicy, version, want] of cpus) {
  test(`${cgroupDriver}, CPU manager ${cpuManagerPolicy}, cgroup v${version}: names ${want === '' ? 'no CPUs' : want}`, () =>
    expect(podsCpus({ cgroupDriver, cpuManagerPolicy }, version, '0-3')).toBe(want));
}
