// Proofs of the fields about the node in a cluster: its status, lease and events, and how many pods it runs.
import { expect } from 'vitest';
import type { Node } from '../../../../src/api/k8s/types.ts';
import { startCluster } from '../../../simulate/cluster-world.ts';
import type { FakeNode } from '../../../simulate/fake-node.ts';
import { addPod, minutes, type Proofs, seconds, startLive } from './rig.ts';

const cluster = { cluster: true };

function object(node: FakeNode): Node | undefined {
  return node.api?.objects.get('nodes', '', 'n');
}

/** How many requests of this kind the next minute brings. */
async function inAMinute(node: FakeNode, line: string): Promise<number> {
  const count = (): number => node.api?.requestLines().filter((each) => each === line).length ?? 0;
  const before = count();
  await node.clock.advance(60_000);
  return count() - before;
}

const statusPatch = 'patch nodes/status n';
const events = (node: FakeNode): number =>
  node.api?.requestLines().filter((each) => each.startsWith('create events')).length ?? 0;

/** Enough events for every limit: pods that cannot run. */
async function manyEvents(node: FakeNode, prefix: string): Promise<number> {
  const before = events(node);
  for (let at = 0; at < 5; at++) addPod(node, `${prefix}${at}`);
  await node.clock.advance(2_000);
  return events(node) - before;
}

export const nodeProofs: Proofs = {
  nodeStatusUpdateFrequency: async () => {
    // Every update is reported, since a report is always due.
    const node = await startLive(
      { nodeStatusUpdateFrequency: minutes(30), nodeStatusReportFrequency: seconds(1) },
      cluster,
    );
    await node.clock.advance(10_000);
    expect(await inAMinute(node, statusPatch)).toBe(0);
    node.reconfigure({ nodeStatusUpdateFrequency: seconds(10) });
    expect(await inAMinute(node, statusPatch)).toBeGreaterThanOrEqual(5);
  },
  nodeStatusReportFrequency: async () => {
    const node = await startLive(
      { nodeStatusUpdateFrequency: seconds(10), nodeStatusReportFrequency: minutes(60) },
      cluster,
    );
    await node.clock.advance(60_000);
    expect(await inAMinute(node, statusPatch)).toBe(0);
    node.reconfigure({ nodeStatusReportFrequency: seconds(10) });
    expect(await inAMinute(node, statusPatch)).toBeGreaterThanOrEqual(3);
  },
  nodeLeaseDurationSeconds: async () => {
    const node = await startLive({}, cluster);
    await node.clock.advance(30_000);
    const duration = (): number | undefined =>
      node.api?.objects.get('leases', 'kube-node-lease', 'n')?.spec?.leaseDurationSeconds;
    expect(duration()).toBe(40);
    expect(await inAMinute(node, 'update leases kube-node-lease/n')).toBeLessThanOrEqual(6);
    node.reconfigure({ nodeLeaseDurationSeconds: 8 });
    await node.clock.advance(100);
    expect(duration()).toBe(8);
    expect(await inAMinute(node, 'update leases kube-node-lease/n')).toBeGreaterThan(25);
  },
  nodeStatusMaxImages: async () => {
    const node = await startLive({}, cluster);
    node.cri.addImage({ name: 'example.com/other:1', sizeBytes: 1 });
    node.reconfigure({ nodeStatusMaxImages: 2 });
    await node.clock.advance(60_000);
    expect(object(node)?.status?.images).toHaveLength(2);
    node.reconfigure({ nodeStatusMaxImages: 1 });
    await node.clock.advance(60_000);
    expect(object(node)?.status?.images).toHaveLength(1);
  },
  maxPods: async () => {
    const world = await startCluster({ live: true, config: { maxPods: 1 } });
    const run = async (name: string): Promise<string | undefined> => {
      world.run(name);
      await world.advance(3_000);
      return world.pod(name)?.status?.reason ?? world.phase(name);
    };
    const allocatable = (): string | undefined => world.nodeObject()?.status?.allocatable?.['pods'];
    expect([await run('first'), await run('second'), allocatable()]).toEqual(['Running', 'OutOfpods', '1']);
    world.node.reconfigure({ maxPods: 2 });
    await world.advance(1_000);
    expect([allocatable(), await run('third')]).toEqual(['2', 'Running']);
    // Fewer than run: they stay.
    world.node.reconfigure({ maxPods: 1 });
    await world.advance(60_000);
    expect(['first', 'third'].map((name) => world.phase(name))).toEqual(['Running', 'Running']);
  },
  eventRecordQPS: async () => {
    const node = await startLive({ eventRecordQPS: 1, eventBurst: 1 }, cluster);
    expect(await manyEvents(node, 'a')).toBeLessThan(5);
    node.reconfigure({ eventRecordQPS: 0 });
    await node.clock.advance(60_000);
    expect(await manyEvents(node, 'b')).toBeGreaterThanOrEqual(15);
  },
  eventBurst: async () => {
    const node = await startLive({ eventRecordQPS: 1, eventBurst: 1 }, cluster);
    expect(await manyEvents(node, 'a')).toBeLessThan(5);
    node.reconfigure({ eventBurst: 100 });
    await node.clock.advance(200_000);
    expect(await manyEvents(node, 'b')).toBeGreaterThanOrEqual(15);
  },
};
