// Evictions that are interrupted: by the end of the kubelet, the API server or the user, in any phase of the pod's life; and
// evictions that garbage collection makes unnecessary.
import { describe, expect, test } from 'vitest';
import { aContainer } from '../../builders/builders.ts';
import { fakeBusybox } from '../../fake-cri/fake-cri.ts';
import { gib, type PressureCluster, startPressureCluster, tooMuch } from '../../simulate/pressure-cluster.ts';

const critical = 2_000_000_000;
const eventCount = (cluster: PressureCluster): number =>
  cluster.events('Evicted').reduce((sum, { count }) => sum + (count ?? 1), 0);

/** A node whose pod `eater` is about to be evicted. */
async function startWithEater(): Promise<PressureCluster> {
  const cluster = await startPressureCluster();
  cluster.run('steady');
  cluster.run('eater', { terminationGracePeriodSeconds: 300 });
  await cluster.advance(3_000);
  return cluster;
}

const moments: readonly {
  readonly when: string;
  readonly reach: (cluster: PressureCluster) => Promise<void>;
}[] = [
  {
    when: 'before the containers are stopped',
    reach: async (cluster) => {
      const stall = cluster.world.node.cri.faults.stall('stopContainer');
      await cluster.until(() => stall.waiting === 1, 'the call');
      await cluster.world.node.kill();
      stall.release();
    },
  },
  {
    when: 'while the containers stop',
    reach: async (cluster) => {
      const { world } = cluster;
      await cluster.until(() => world.callCount('stopContainer') === 1, 'the call');
      await cluster.advance(500);
      await world.node.kill();
    },
  },
  {
    when: 'before the status is reported',
    reach: async (cluster) => {
      const { api, node } = cluster.world;
      const filter = { verb: 'patch', resource: 'pods', subresource: 'status' } as const;
      const stall = api.faults.stall(filter);
      await cluster.until(() => cluster.world.callCount('stopPodSandbox') > 0, 'the end');
      await cluster.advance(1_000);
      expect(cluster.isEvicted('eater')).toBe(false);
      await node.kill();
      stall.remove();
      expect(cluster.isEvicted('eater')).toBe(false);
    },
  },
  {
    when: 'when the status is reported',
    reach: async (cluster) => {
      await cluster.until(() => cluster.isEvicted('eater'), 'the eviction');
      await cluster.world.node.kill();
    },
  },
];

describe('a kubelet killed in the middle of an eviction is succeeded by one that finishes it', () => {
  test.each(moments)('$when', async ({ reach }) => {
    const cluster = await startWithEater();
    const { pressure, world } = cluster;
    pressure.uses('eater', tooMuch);
    await reach(cluster);
    // The record decides, not the figures of the successor.
    pressure.uses('eater', 1);
    await world.node.start();
    await cluster.advance(90_000);
    expect(cluster.isEvicted('eater')).toBe(true);
    expect(cluster.status('eater').conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', observedGeneration: 1 }),
    );
    expect(cluster.status('eater').containerStatuses).toMatchObject([
      { restartCount: 0, state: { terminated: { exitCode: expect.any(Number) } } },
    ]);
    expect(cluster.creations('eater')).toBe(1);
    expect(eventCount(cluster)).toBeLessThanOrEqual(1);
    expect(cluster.unfinished()).toEqual([]);
    expect([world.ready('steady'), cluster.creations('steady')]).toEqual(['True', 1]);
    world.delete('eater');
    await cluster.advance(60_000);
    expect(world.pod('eater')).toBeUndefined();
  });
});

test('a pod is evicted while the API server is unreachable, and its status delivered later', async () => {
  const cluster = await startWithEater();
  const { pressure, world } = cluster;
  world.api.faults.goDown();
  pressure.uses('eater', tooMuch);
  await cluster.advance(60_000);
  expect(
    world.node.cri.containers().filter(({ config }) => config.metadata?.name === 'eater'),
  ).not.toContainEqual(expect.objectContaining({ process: expect.objectContaining({ exit: undefined }) }));
  expect(world.phase('eater')).toBe('Running');
  expect(cluster.unfinished()).toHaveLength(1);
  world.api.faults.comeUp();
  await cluster.advance(70_000);
  expect(cluster.isEvicted('eater')).toBe(true);
  expect(cluster.creations('eater')).toBe(1);
  expect(eventCount(cluster)).toBe(1);
  expect(cluster.unfinished()).toEqual([]);
});

test('a pod that its user deletes while it is evicted ends once and leaves nothing', async () => {
  const cluster = await startWithEater();
  const { pressure, world } = cluster;
  pressure.uses('eater', tooMuch);
  await cluster.until(() => world.callCount('stopContainer') === 1, 'the kill');
  world.delete('eater');
  await cluster.advance(60_000);
  expect(world.pod('eater')).toBeUndefined();
  expect(cluster.statuses.get('eater')?.at(-1)).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  expect(cluster.unfinished()).toEqual([]);
  pressure.uses('eater', 1);
  cluster.run('eater', { uid: 'second' });
  await cluster.advance(60_000);
  expect(world.ready('eater')).toBe('True');
});

/** A node that is short of memory because of a pod that is never evicted. */
async function startShort(): Promise<PressureCluster> {
  const cluster = await startPressureCluster();
  cluster.run('hog', { priority: critical });
  await cluster.advance(3_000);
  return cluster;
}

describe('a pod that has not started yet is evicted', () => {
  test('while its image is pulled', async () => {
    const cluster = await startShort();
    const { node } = cluster.world;
    const image = 'docker.io/library/large:1';
    node.cri.publishImage({ ...fakeBusybox, name: image });
    const pull = node.cri.faults.stall('pullImage');
    cluster.run('pulling', { containers: [aContainer({ name: 'pulling', image })] });
    await cluster.until(() => pull.waiting === 1, 'the pull');
    cluster.pressure.uses('hog', tooMuch);
    await cluster.until(() => cluster.isEvicted('pulling'), 'the eviction');
    pull.release();
    await cluster.advance(60_000);
    expect(cluster.creations('pulling')).toBe(0);
    expect(cluster.status('pulling')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(cluster.unfinished()).toEqual([]);
  });

  test('while its init container runs', async () => {
    const cluster = await startShort();
    cluster.run('p', {
      initContainers: [aContainer({ name: 'init' })],
      containers: [aContainer({ name: 'main' })],
    });
    await cluster.until(() => cluster.creations('init') === 1, 'the init container');
    await cluster.advance(1_000);
    cluster.pressure.uses('hog', tooMuch);
    await cluster.until(() => cluster.isEvicted('p'), 'the eviction');
    await cluster.advance(60_000);
    expect([cluster.creations('init'), cluster.creations('main')]).toEqual([1, 0]);
    expect(cluster.status('p').initContainerStatuses).toMatchObject([
      { restartCount: 0, state: { terminated: { exitCode: 137 } } },
    ]);
  });

  test('while its volume is mounted', async () => {
    const cluster = await startShort();
    const { node } = cluster.world;
    let finish: () => void = () => undefined;
    const mounted = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let isMounting = false;
    node.volumes.injectFault('mountTmpfs', () => {
      isMounting = true;
      return mounted;
    });
    cluster.run('p', {
      containers: [aContainer({ name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }],
    });
    await cluster.until(() => isMounting, 'the mount');
    cluster.pressure.uses('hog', tooMuch);
    await cluster.until(() => node.logged('Evicting pod').length === 1, 'the start of the eviction');
    await cluster.advance(2_000);
    finish();
    await cluster.until(() => cluster.isEvicted('p'), 'the eviction');
    await cluster.advance(60_000);
    expect(cluster.creations('main')).toBe(0);
    expect(node.volumes.mounts).toEqual([]);
  });
});

describe('under disk pressure', () => {
  const unused = ['docker.io/library/old:1', 'docker.io/library/older:1'];

  async function startWithGarbage(): Promise<PressureCluster> {
    const cluster = await startPressureCluster({
      images: [fakeBusybox, ...unused.map((name) => ({ ...fakeBusybox, name, sizeBytes: 1_000 }))],
    });
    cluster.run('steady');
    cluster.run('done', {
      restartPolicy: 'Never',
      containers: [aContainer({ name: 'done', command: ['sh', '-c', 'exit 0'] })],
    });
    // Images are not removed before imageMinimumGCAge.
    await cluster.advance(180_000);
    expect(cluster.world.phase('done')).toBe('Succeeded');
    return cluster;
  }

  test('dead containers and unused images go first; if that is enough, no pod is evicted', async () => {
    const cluster = await startWithGarbage();
    const { world } = cluster;
    const removed = (): number => world.callCount('removeImage');
    cluster.pressure.setDisk(() => (5 + 10 * removed()) * gib);
    await cluster.advance(15_000);
    expect(removed()).toBe(2);
    expect(world.callCount('removeContainer')).toBe(1);
    expect(cluster.nodeCondition('DiskPressure')).toMatchObject({
      status: 'True',
      reason: 'KubeletHasDiskPressure',
    });
    expect(cluster.events('EvictionThresholdMet')).toMatchObject([
      { message: 'Attempting to reclaim ephemeral-storage' },
    ]);
    await cluster.advance(90_000);
    expect(cluster.events('Evicted')).toEqual([]);
    expect(cluster.nodeCondition('DiskPressure')?.status).toBe('False');
    expect([world.ready('steady'), world.phase('done')]).toEqual(['True', 'Succeeded']);
  });

  test('if that is not enough, a pod is evicted', async () => {
    const cluster = await startWithGarbage();
    cluster.pressure.setDisk(() => (cluster.isEvicted('steady') ? 60 : 5) * gib);
    await cluster.until(() => cluster.isEvicted('steady'), 'the eviction');
    expect(cluster.world.callCount('removeImage')).toBe(2);
    expect(cluster.status('steady').message).toMatch(
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: 10Gi, available: 5Gi\. /,
    );
    expect(cluster.world.phase('done')).toBe('Succeeded');
  });
});
