// Proofs of the fields about images: pulls and garbage collection.
import { expect } from 'vitest';
import type { KubeletConfiguration } from '../../../../src/config/table/kubelet-configuration.ts';
import { fakeSpace } from '../../../fakes/fake-stats-edge.ts';
import type { FakeNode } from '../../../simulate/fake-node.ts';
import { addPod, minutes, type Proofs, seconds, startLive } from './rig.ts';

const exceeded = (node: FakeNode, name: string): boolean =>
  node.eventLines(`uid-${name}`).some((line) => line.includes('pull QPS exceeded'));

/** Two pods pull at once; whether one of them finds the rate exceeded. */
async function twoPulls(node: FakeNode, names: readonly [string, string]): Promise<boolean> {
  for (const name of names) addPod(node, name);
  await node.clock.advance(1_000);
  return names.some((name) => exceeded(node, name));
}

function pullRate(
  before: Partial<KubeletConfiguration>,
  after: Partial<KubeletConfiguration>,
  want: readonly [before: boolean, after: boolean],
): () => Promise<void> {
  return async () => {
    const node = await startLive({ serializeImagePulls: false, ...before });
    const first = await twoPulls(node, ['a', 'b']);
    await node.clock.advance(60_000);
    node.reconfigure(after);
    expect([first, await twoPulls(node, ['c', 'd'])]).toEqual(want);
  };
}

/** Pulls that hang: how many are in flight before and right after the change. */
function parallelPulls(
  before: Partial<KubeletConfiguration>,
  after: Partial<KubeletConfiguration>,
): () => Promise<void> {
  return async () => {
    const node = await startLive(before);
    const stall = node.cri.faults.stall('pullImage', { times: 10 });
    for (const name of ['a', 'b']) addPod(node, name);
    await node.clock.advance(5_000);
    const pulls = (): number => node.calls().filter((each) => each === 'PullImage').length;
    expect(pulls()).toBe(1);
    node.reconfigure(after);
    await node.clock.advance(100);
    expect(pulls()).toBe(2);
    stall.release();
    await node.clock.advance(5_000);
  };
}

async function images(node: FakeNode): Promise<readonly string[]> {
  const listed = (await node.cri.listImages({})).images.flatMap(({ repoTags }) => repoTags);
  return listed.filter((name) => name.startsWith('example.com/')).toSorted();
}

/** Of `count` unused images of 14 MB each: how many are left before the change, and after the next two collections. */
function collected(
  before: Partial<KubeletConfiguration>,
  after: Partial<KubeletConfiguration>,
  { count = 1, usedPercent = 50, want }: { count?: number; usedPercent?: number; want: readonly number[] },
): () => Promise<void> {
  return async () => {
    const node = await startLive({ imageMinimumGCAge: seconds(0), ...before });
    for (let at = 0; at < count; at++)
      node.cri.addImage({ name: `example.com/unused${at}:1`, sizeBytes: 14_000_000 });
    node.space = {
      ...fakeSpace,
      capacityBytes: 100_000_000,
      availableBytes: 1_000_000 * (100 - usedPercent),
    };
    await node.clock.advance(12 * 60_000);
    const left = [(await images(node)).length];
    node.reconfigure(after);
    await node.clock.advance(12 * 60_000);
    expect([...left, (await images(node)).length]).toEqual(want);
  };
}

export const imageProofs: Proofs = {
  registryPullQPS: pullRate({ registryPullQPS: 0 }, { registryPullQPS: 1, registryBurst: 1 }, [false, true]),
  registryBurst: pullRate({ registryPullQPS: 1, registryBurst: 1 }, { registryBurst: 10 }, [true, false]),
  serializeImagePulls: parallelPulls({}, { serializeImagePulls: false }),
  maxParallelImagePulls: parallelPulls(
    { serializeImagePulls: false, maxParallelImagePulls: 1 },
    { maxParallelImagePulls: 2 },
  ),
  imageGCHighThresholdPercent: collected(
    { imageGCHighThresholdPercent: 100 },
    { imageGCHighThresholdPercent: 85 },
    { usedPercent: 90, want: [1, 0] },
  ),
  imageGCLowThresholdPercent: collected(
    { imageGCHighThresholdPercent: 90, imageGCLowThresholdPercent: 89 },
    { imageGCLowThresholdPercent: 60 },
    // The usage stays, so that every collection removes one image before the change, and three after it.
    { usedPercent: 90, count: 12, want: [11, 5] },
  ),
  imageMinimumGCAge: collected(
    { imageMinimumGCAge: minutes(120) },
    { imageMinimumGCAge: seconds(0) },
    { usedPercent: 90, want: [1, 0] },
  ),
  imageMaximumGCAge: collected({}, { imageMaximumGCAge: minutes(1) }, { want: [1, 0] }),
};
