// Proofs of the fields about eviction, on a node of a cluster whose memory runs short.
import { expect } from 'vitest';
import { fileConfiguration } from '../../../../src/config/load/complete.ts';
import type { KubeletConfiguration } from '../../../../src/config/table/kubelet-configuration.ts';
import { gib, type PressureCluster, startPressureCluster } from '../../../simulate/pressure-cluster.ts';
import { minutes, type Proofs, seconds } from './rig.ts';

/** The pod `eater` uses 5 GiB of the 7.45 GiB of memory, so that 2.4 GiB are available. */
async function start(config: Partial<KubeletConfiguration> = {}): Promise<PressureCluster> {
  const cluster = await startPressureCluster({ live: true, config: { evictionHard: {}, ...config } });
  cluster.run('eater', { terminationGracePeriodSeconds: 100 });
  await cluster.advance(3_000);
  cluster.world.node.cri.setProgram('eater', (process) => process.sleep(1e9).then(() => 0));
  cluster.pressure.uses('eater', 5 * gib);
  await cluster.advance(30_000);
  return cluster;
}

const change = ({ world }: PressureCluster, to: Partial<KubeletConfiguration>): void =>
  world.node.reconfigure(to);
const conditions = ({ world }: PressureCluster): readonly string[] => world.node.stores.pressure.conditions();

const soft = {
  evictionSoft: { 'memory.available': '3Gi' },
  evictionSoftGracePeriod: { 'memory.available': '10m' },
};

export const evictionProofs: Proofs = {
  evictionHard: async () => {
    const cluster = await start();
    const allocatable = () => cluster.world.nodeObject()?.status?.allocatable?.['memory'];
    expect([conditions(cluster), cluster.isEvicted('eater')]).toEqual([[], false]);
    const before = allocatable();
    change(cluster, { evictionHard: { 'memory.available': '3Gi' } });
    await cluster.advance(5_000);
    expect([conditions(cluster), cluster.isEvicted('eater')]).toEqual([['MemoryPressure'], true]);
    expect([before, allocatable()]).toEqual(['7812500Ki', '4666772Ki']);
    change(cluster, { evictionHard: {} });
    await cluster.advance(70_000);
    expect([conditions(cluster), allocatable()]).toEqual([[], before]);
  },
  evictionSoft: async () => {
    const cluster = await start(soft);
    expect(conditions(cluster)).toEqual(['MemoryPressure']);
    change(cluster, { evictionSoft: { 'memory.available': '1Gi' } });
    await cluster.advance(15 * 60_000);
    expect([conditions(cluster), cluster.isEvicted('eater')]).toEqual([[], false]);
    change(cluster, { evictionSoft: soft.evictionSoft });
    await cluster.advance(1_000);
    expect([conditions(cluster), cluster.isEvicted('eater')]).toEqual([['MemoryPressure'], false]);
    await cluster.advance(12 * 60_000);
    expect(cluster.isEvicted('eater')).toBe(true);
  },
  evictionSoftGracePeriod: async () => {
    const cluster = await start(soft);
    await cluster.advance(60_000);
    expect(cluster.isEvicted('eater')).toBe(false);
    change(cluster, { evictionSoftGracePeriod: { 'memory.available': '1m' } });
    await cluster.advance(75_000);
    expect(cluster.isEvicted('eater')).toBe(true);
  },
  evictionMaxPodGracePeriod: async () => {
    const cluster = await start({ ...soft, evictionMaxPodGracePeriod: 1 });
    change(cluster, { evictionMaxPodGracePeriod: 17 });
    await cluster.advance(12 * 60_000);
    const stop = cluster.world.node.cri.calls.find(({ method }) => method === 'StopContainer');
    expect(stop?.request).toMatchObject({ timeout: 17n });
  },
  evictionMinimumReclaim: async () => {
    const evictedWith = async (reclaim: Readonly<Record<string, string>>): Promise<readonly string[]> => {
      const cluster = await start();
      cluster.run('small');
      cluster.pressure.uses('small', 1.5 * gib);
      await cluster.advance(10_000);
      change(cluster, { evictionMinimumReclaim: reclaim });
      // Without the larger pod, almost 6 GiB are available.
      change(cluster, { evictionHard: { 'memory.available': '2Gi' } });
      await cluster.advance(60_000);
      return ['eater', 'small'].filter((name) => cluster.isEvicted(name));
    };
    expect(await evictedWith({})).toEqual(['eater']);
    expect(await evictedWith({ 'memory.available': '5Gi' })).toEqual(['eater', 'small']);
  },
  // It acts while the files are loaded, so that a change of it changes evictionHard.
  mergeDefaultEvictionSettings: async () => {
    const loaded = (merge: boolean): Partial<KubeletConfiguration> => {
      const given = { evictionHard: { 'nodefs.available': '1%' }, mergeDefaultEvictionSettings: merge };
      const { evictionHard, mergeDefaultEvictionSettings } = fileConfiguration(given, {});
      return { evictionHard, mergeDefaultEvictionSettings };
    };
    const cluster = await start(loaded(false));
    const allocatable = () => cluster.world.nodeObject()?.status?.allocatable?.['memory'];
    const before = allocatable();
    change(cluster, loaded(true));
    await cluster.advance(5_000);
    expect([before, allocatable()]).toEqual(['7812500Ki', '7710100Ki']);
  },
  evictionPressureTransitionPeriod: async () => {
    const cluster = await start({ evictionHard: { 'memory.available': '3Gi' } });
    expect([conditions(cluster), cluster.isEvicted('eater')]).toEqual([['MemoryPressure'], true]);
    change(cluster, { evictionPressureTransitionPeriod: minutes(10) });
    await cluster.advance(5 * 60_000);
    expect(conditions(cluster)).toEqual(['MemoryPressure']);
    change(cluster, { evictionPressureTransitionPeriod: seconds(60) });
    await cluster.advance(1_000);
    expect(conditions(cluster)).toEqual([]);
  },
};
