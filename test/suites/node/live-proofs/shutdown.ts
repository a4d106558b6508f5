// Proofs of the fields about the shutdown of the machine: the lock that delays it, and how its time is divided.
import { expect } from 'vitest';
import { type Proofs, seconds, startLive } from './rig.ts';

/** How the time of a shutdown that begins now is divided, by ascending priority. */
async function plannedGroups(node: Awaited<ReturnType<typeof startLive>>): Promise<unknown> {
  node.logind.prepare(true);
  await node.clock.advance(100);
  const [line = ''] = node.logged('terminating pods');
  return [...line.matchAll(/seconds\\?":(\d+)/g)].map(([, each]) => Number(each));
}

export const shutdownProofs: Proofs = {
  shutdownGracePeriod: async () => {
    const node = await startLive();
    expect(node.logind.locks).toBe(0);
    node.reconfigure({ shutdownGracePeriod: seconds(60) });
    await node.clock.advance(1_000);
    expect([node.logind.raised, node.logind.locks]).toEqual([[60], 1]);
    node.reconfigure({ shutdownGracePeriod: seconds(0) });
    await node.clock.advance(1_000);
    expect(node.logind.locks).toBe(0);
  },
  shutdownGracePeriodCriticalPods: async () => {
    const node = await startLive({ shutdownGracePeriod: seconds(60) });
    node.reconfigure({ shutdownGracePeriodCriticalPods: seconds(20) });
    await node.clock.advance(1_000);
    expect(await plannedGroups(node)).toEqual([40, 20]);
  },
  shutdownGracePeriodByPodPriority: async () => {
    const node = await startLive();
    const periods = [
      { priority: 0, shutdownGracePeriodSeconds: 7 },
      { priority: 10, shutdownGracePeriodSeconds: 3 },
    ];
    node.reconfigure({ shutdownGracePeriodByPodPriority: periods });
    await node.clock.advance(1_000);
    expect(node.logind.locks).toBe(1);
    expect(await plannedGroups(node)).toEqual([7, 3]);
  },
};
