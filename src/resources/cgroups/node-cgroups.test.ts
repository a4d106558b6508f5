import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeCgroups } from '../../../test/fakes/fake-cgroups.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { EventText } from '../../api/ports/events.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { Channel } from '../../base/channel.ts';
import { startComponent } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import { type Logger, Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { NodeCgroups, type NodeCgroupsPlan } from './node-cgroups.ts';

function rig(over: Partial<NodeCgroupsPlan> = {}) {
  const clock = new FakeClock(0);
  const cgroups = new FakeCgroups();
  const events: EventText[] = [];
  const lines: string[] = [];
  const pods: Pod[] = [];
  const protectedMemory: (readonly [bigint, bigint])[] = [];
  const changed = new Channel<void>();
  const log: Logger = textLogger({
    write: (line) => void lines.push(line),
    clock,
    verbosity: new Verbosity(0),
    pid: 1,
  });
  const node = new NodeCgroups({
    cgroups,
    plan: {
      root: ['kubepods'],
      limits: parseAmounts({ cpu: '2', memory: '1000', pid: '77' }),
      reserved: [],
      policy: {
        podLevelResources: true,
        memoryQos: false,
        reservesMemory: false,
        resetsMemory: false,
        memoryReservePercent: undefined,
        allocatableMemoryBytes: 1000n,
        hugePageSizes: [],
      },
      ...over,
    },
    pods: { all: () => pods, changed },
    events: { pod: () => undefined, node: (event) => void events.push(event) },
    metrics: { protectedMemory: (...bytes) => void protectedMemory.push(bytes) },
    clock,
    log,
  });
  const stop = new AbortController();
  return {
    protectedMemory,
    clock,
    cgroups,
    events,
    lines,
    pods,
    changed,
    start: async () => {
      const { stopped } = await startComponent(node, stop.signal);
      await clock.advance(1000);
      return async (): Promise<void> => {
        stop.abort();
        await clock.until(stopped, 1000);
      };
    },
  };
}

const burstable = (cpu: string, memory = '1'): Pod =>
  aPod({ containers: [aContainer({ resources: { requests: { cpu, memory } } })] });
const enforced = {
  type: 'Normal',
  reason: 'NodeAllocatableEnforced',
  message: 'Updated Node Allocatable limit across pods',
};

test('creates the cgroups of all pods and of the QoS classes at start', async () => {
  const { cgroups, events, start } = rig();
  const stop = await start();
  expect(cgroups.settings('/kubepods')).toMatchObject({
    cpuShares: 2048n,
    memoryLimitBytes: 1000n,
    pidsLimit: 77n,
  });
  expect(cgroups.settings('/kubepods/burstable')).toMatchObject({ cpuShares: 2n });
  expect(cgroups.settings('/kubepods/besteffort')).toMatchObject({ cpuShares: 2n });
  expect(events).toEqual([enforced]);
  await stop();
});

test('updates a QoS class once for a burst of pods', async () => {
  const { cgroups, changed, clock, pods, start } = rig();
  const stop = await start();
  cgroups.calls.length = 0;
  for (let count = 0; count < 5; count++) {
    pods.push(burstable('100m'));
    changed.push();
  }
  await clock.advance(1000);
  expect(cgroups.calls).toEqual(['update /kubepods/burstable']);
  expect(cgroups.settings('/kubepods/burstable')?.cpuShares).toBe(512n);
  await stop();
});

test('writes nothing while nothing changes, but reverts foreign changes within a minute', async () => {
  const { cgroups, changed, clock, start } = rig();
  const stop = await start();
  cgroups.calls.length = 0;
  for (let second = 0; second < 50; second++) {
    changed.push();
    await clock.advance(1000);
  }
  expect(cgroups.calls).toEqual([]);
  await cgroups.update(['kubepods', 'burstable'], { cpuShares: 9999n });
  await clock.advance(70_000);
  expect(cgroups.settings('/kubepods/burstable')?.cpuShares).toBe(2n);
  await stop();
});

test('reverts foreign changes on time after the wall clock was set back', async () => {
  const { cgroups, clock, start } = rig();
  const stop = await start();
  clock.stepWall(-3_600_000);
  await cgroups.update(['kubepods', 'burstable'], { cpuShares: 9999n });
  await clock.advance(70_000);
  expect(cgroups.settings('/kubepods/burstable')?.cpuShares).toBe(2n);
  await stop();
});

test('reports limits that the kernel rejects, and retries', async () => {
  const { cgroups, clock, events, start } = rig();
  await cgroups.create(['kubepods'], {});
  cgroups.faults.set('/kubepods', new KubeletError('conflict', 'EBUSY', 'cannot write "1000"'));
  const stop = await start();
  expect(events[0]).toEqual({
    type: 'Warning',
    reason: 'FailedNodeAllocatableEnforcement',
    message: 'Failed to update Node Allocatable Limits "/kubepods": cannot write "1000"',
  });
  await clock.advance(60_000);
  expect(events.at(-1)).toEqual(enforced);
  await stop();
});

test('limits a QoS class to its usage if that is above the limit', async () => {
  const policy = {
    podLevelResources: true,
    memoryQos: false,
    reservesMemory: false,
    resetsMemory: false,
    memoryReservePercent: 100n,
    allocatableMemoryBytes: 1000n,
    hugePageSizes: [],
  };
  const { cgroups, changed, clock, pods, start } = rig({ policy });
  const stop = await start();
  pods.push(burstable('1', '600'));
  cgroups.usageBytes = 700n;
  cgroups.faults.set('/kubepods/besteffort', new KubeletError('conflict', 'EBUSY', 'busy'));
  changed.push();
  await clock.advance(1000);
  expect(cgroups.settings('/kubepods/besteffort')?.memoryLimitBytes).toBe(700n);
  await stop();
});

const system = {
  kind: 'system-reserved',
  cgroup: '/system',
  amounts: parseAmounts({ cpu: '500m', memory: '100' }),
};

test('applies all limits of reserved cgroups, or the compressible ones only', async () => {
  for (const compressible of [false, true]) {
    const { cgroups, events, start } = rig({ reserved: [{ ...system, compressible }] });
    await cgroups.create(['system'], {});
    const stop = await start();
    const memory = compressible ? {} : { memoryLimitBytes: 100n, hugePageLimits: {} };
    expect(cgroups.settings('/system')).toEqual({ cpuShares: 512n, ...memory });
    expect(events[0]?.message).toBe('Updated limits on system reserved cgroup /system');
    await stop();
  }
});

test('fails to start if a reserved cgroup is missing', async () => {
  const { events, start } = rig({ reserved: [{ ...system, compressible: true }] });
  await expect(start()).rejects.toThrow(
    'Failed to enforce System Reserved Compressible Cgroup Limits on "/system"',
  );
  expect(events).toMatchObject([{ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement' }]);
});

test('reports the memory that TieredReservation protects, as pods come and go', async () => {
  const policy = {
    podLevelResources: true,
    memoryQos: true,
    reservesMemory: true,
    resetsMemory: true,
    memoryReservePercent: undefined,
    allocatableMemoryBytes: 1000n,
    hugePageSizes: [],
  };
  const { changed, clock, pods, protectedMemory, start } = rig({ policy });
  const stop = await start();
  expect(protectedMemory.at(-1)).toEqual([0n, 0n]);
  pods.push(burstable('1', '600'));
  changed.push();
  await clock.advance(1000);
  expect(protectedMemory.at(-1)).toEqual([0n, 600n]);
  await stop();
});
