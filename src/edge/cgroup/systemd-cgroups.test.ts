import { expect, test } from 'vitest';
import { FakeCgroups } from '../../../test/fakes/fake-cgroups.ts';
import type { CgroupName } from '../../api/ports/cgroups.ts';
import type { UnitProperty } from '../systemd/unit-properties.ts';
import { systemdSpelling } from './cgroup-spelling.ts';
import { systemdCgroups } from './systemd-cgroups.ts';

/** Directories spelled as systemd slices. */
class Directories extends FakeCgroups {
  override path(name: CgroupName): string {
    return systemdSpelling.path(name);
  }
}

function rig() {
  const files = new Directories();
  const calls: string[] = [];
  const record =
    (call: string) =>
    async (unit: string, properties: readonly UnitProperty[] = []): Promise<void> => {
      const wants = properties.find(({ name }) => name === 'Wants')?.value;
      const names = wants === undefined ? properties.map(({ name }) => name) : [`below ${String(wants)}`];
      calls.push([call, unit, ...names].join(' '));
    };
  const units = {
    version: async () => 252,
    start: record('start'),
    set: record('set'),
    stop: record('stop'),
    close: () => void calls.push('close'),
  };
  return { files, calls, cgroups: systemdCgroups(files, units) };
}

const pod = ['kubepods', 'burstable', 'pod1-2'];
const path = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice';

test('creates a slice below its QoS class, sets its properties, then writes the files', async () => {
  const { calls, cgroups, files } = rig();
  await cgroups.create(pod, { cpuShares: 5n, hugePageLimits: { '2MB': 1n } });
  expect(calls).toEqual([
    'start kubepods-burstable-pod1_2.slice below kubepods-burstable.slice',
    'set kubepods-burstable-pod1_2.slice CPUShares',
  ]);
  expect(files.settings(path)).toEqual({ cpuShares: 5n, hugePageLimits: { '2MB': 1n } });
});

test('creates the first slice below the root slice', async () => {
  const { calls, cgroups } = rig();
  await cgroups.create(['kubepods'], {});
  expect(calls[0]).toBe('start kubepods.slice below -.slice');
});

test('applies an update to systemd and to the files', async () => {
  const { calls, cgroups, files } = rig();
  await cgroups.create(pod, {});
  calls.length = 0;
  await cgroups.update(pod, { memoryLimitBytes: 7n });
  expect([calls, files.settings(path)]).toEqual([
    ['set kubepods-burstable-pod1_2.slice MemoryLimit'],
    { memoryLimitBytes: 7n },
  ]);
});

test('removeIdle stops an idle slice and removes its directory, but not a missing or a busy one', async () => {
  const { calls, cgroups, files } = rig();
  expect(await cgroups.removeIdle(pod)).toBe(true);
  files.enter(path, 7);
  expect(await cgroups.removeIdle(pod)).toBe(false);
  expect(calls).toEqual([]);
  await cgroups.kill(pod);
  expect(await cgroups.removeIdle(pod)).toBe(true);
  expect([calls, [...files.groups.keys()]]).toEqual([['stop kubepods-burstable-pod1_2.slice'], []]);
});

test('remove stops a slice and removes its descendants', async () => {
  const { calls, cgroups, files } = rig();
  files.enter(`${path}/c`, 7);
  await cgroups.kill(pod);
  await cgroups.remove(pod);
  expect([calls, [...files.groups.keys()]]).toEqual([['stop kubepods-burstable-pod1_2.slice'], []]);
});
