// Whole kubelets under pressure: what the API server has of an eviction, step by step.
import { expect, test } from 'vitest';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { aContainer } from '../../builders/builders.ts';
import { gib, startPressureCluster, tooMuch, transitionMs } from '../../simulate/pressure-cluster.ts';

const isRunning = (state: object | undefined): boolean => state !== undefined && 'running' in state;

test('memory pressure: the pod ends first, then its status is Failed, and the node recovers after the transition period', async () => {
  const cluster = await startPressureCluster();
  const { pressure, statuses, world } = cluster;
  cluster.run('steady');
  cluster.run('eater', { terminationGracePeriodSeconds: 300 });
  await cluster.advance(3_000);
  world.node.cri.setProgram('eater', (process) => process.sleep(1e9).then(() => 0));
  pressure.uses('eater', tooMuch);
  await cluster.until(() => cluster.nodeCondition('MemoryPressure')?.status === 'True', 'pressure', 12_000);
  const stops = (): number => world.callCount('stopContainer');
  await cluster.until(() => stops() === 1, 'the kill', 100);
  expect(world.node.cri.calls.find(({ method }) => method === 'StopContainer')?.request).toMatchObject({
    timeout: 2n,
  });
  expect(cluster.nodeCondition('MemoryPressure')).toMatchObject({
    status: 'True',
    reason: 'KubeletHasInsufficientMemory',
    message: 'kubelet has insufficient memory available',
  });
  await cluster.until(() => cluster.isEvicted('eater'), 'the eviction', 5_000);
  const message =
    'The node was low on resource: memory. Threshold quantity: 1Gi, available: 780226Ki. ' +
    'Container eater was using 7031250Ki, request is 100Mi, has larger consumption of memory. ';
  expect(cluster.status('eater')).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
  expect(cluster.status('eater').conditions).toContainEqual({
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message,
    observedGeneration: 1,
    lastTransitionTime: expect.any(String),
  });
  expect(cluster.status('eater').containerStatuses).toMatchObject([
    {
      name: 'eater',
      ready: false,
      started: false,
      restartCount: 0,
      state: { terminated: { exitCode: 137 } },
    },
  ]);
  const early = (statuses.get('eater') ?? []).filter(
    ({ phase, containerStatuses }) =>
      phase === 'Failed' && containerStatuses?.some(({ state }) => isRunning(state)),
  );
  expect(early).toEqual([]);
  expect(cluster.isEvicted('steady')).toBe(false);
  await cluster.advance(2_000);
  expect(cluster.events('Evicted')).toMatchObject([
    {
      type: 'Warning',
      message,
      metadata: {
        annotations: {
          offending_containers: 'eater',
          offending_containers_usage: '7031250Ki',
          starved_resource: 'memory',
        },
      },
      involvedObject: { kind: 'Pod', name: 'eater', namespace: 'default' },
    },
  ]);
  expect(cluster.events('EvictionThresholdMet')).toMatchObject([
    { type: 'Warning', message: 'Attempting to reclaim memory', involvedObject: { kind: 'Node', name: 'n' } },
  ]);
  expect(cluster.events('NodeHasInsufficientMemory')).toHaveLength(1);
  await cluster.advance(transitionMs - 10_000);
  expect(cluster.nodeCondition('MemoryPressure')?.status).toBe('True');
  await cluster.advance(11_000);
  expect(cluster.nodeCondition('MemoryPressure')).toMatchObject({
    status: 'False',
    reason: 'KubeletHasSufficientMemory',
  });
  expect([world.phase('steady'), world.ready('steady')]).toEqual(['Running', 'True']);
  expect(cluster.creations('eater')).toBe(1);
  expect(cluster.unfinished()).toEqual([]);
  expect(world.forbidden()).toEqual([]);
});

test('an exceeded emptyDir is the pod’s own fault: no DisruptionTarget, no pressure, the other pods stay', async () => {
  const cluster = await startPressureCluster();
  const { world } = cluster;
  cluster.run('steady');
  cluster.run('writer', {
    containers: [aContainer({ name: 'writer', volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    volumes: [{ name: 'data', emptyDir: { sizeLimit: '1Ki' } }],
  });
  await cluster.advance(3_000);
  const path = `/var/lib/kubelet/pods/${world.pod('writer')?.metadata?.uid}/volumes/kubernetes.io~empty-dir/data`;
  expect(world.node.volumes.entries.has(path)).toBe(true);
  world.node.volumes.contents.set(path, new Map([['file', { data: Buffer.alloc(4_096), mode: 0o644 }]]));
  await cluster.until(() => cluster.isEvicted('writer'), 'the eviction', 30_000);
  await cluster.advance(2_000);
  const message = 'Usage of EmptyDir volume "data" exceeds the limit "1Ki". ';
  expect(cluster.status('writer')).toMatchObject({ reason: 'Evicted', message });
  expect(cluster.status('writer').conditions?.map(({ type }) => type)).not.toContain('DisruptionTarget');
  expect(cluster.events('Evicted')).toMatchObject([{ message, involvedObject: { name: 'writer' } }]);
  expect(cluster.events('Evicted')[0]?.metadata?.annotations).toBeUndefined();
  expect(cluster.events('EvictionThresholdMet')).toEqual([]);
  expect(cluster.nodeCondition('MemoryPressure')?.status).toBe('False');
  expect(world.node.volumes.entries.has(path)).toBe(false);
  expect(world.ready('steady')).toBe('True');
});

const tolerant = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' };
const named = (name: string) => ({ containers: [aContainer({ name })] });
/** Reports the condition at once, and evicts nothing during the test. */
const patient = {
  evictionHard: {},
  evictionSoft: { 'memory.available': '1Gi' },
  evictionSoftGracePeriod: { 'memory.available': '1h' },
};

test('admission under memory pressure rejects only BestEffort pods without a toleration', async () => {
  const cluster = await startPressureCluster({ config: patient });
  const { pressure, world } = cluster;
  cluster.run('eater');
  await cluster.advance(3_000);
  pressure.uses('eater', tooMuch);
  await cluster.until(() => cluster.nodeCondition('MemoryPressure')?.status === 'True', 'pressure');
  cluster.run('burstable');
  world.run('critical', { ...named('critical'), priority: 2_000_000_000 });
  world.run('tolerating', { ...named('tolerating'), tolerations: [tolerant] });
  world.run('rejected', named('rejected'));
  await cluster.advance(3_000);
  expect(cluster.status('rejected')).toMatchObject({
    phase: 'Failed',
    reason: 'Evicted',
    message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
  });
  expect(cluster.creations('rejected')).toBe(0);
  expect(cluster.status('rejected').conditions).toBeUndefined();
  const admitted = ['burstable', 'critical', 'tolerating', 'eater'];
  expect(admitted.map((name) => world.ready(name))).toEqual(['True', 'True', 'True', 'True']);
});

test('pods that run are adopted by a kubelet that learns of them after the pressure; new ones are rejected', async () => {
  const cluster = await startPressureCluster({ config: patient });
  const { pressure, world } = cluster;
  cluster.run('eater');
  world.run('best-effort', named('best-effort'));
  await cluster.advance(3_000);
  world.api.faults.goDown();
  await world.node.kill();
  pressure.uses('eater', tooMuch);
  await world.node.start();
  await cluster.advance(30_000);
  world.run('new', named('new'));
  world.api.faults.comeUp();
  await cluster.advance(70_000);
  expect(cluster.nodeCondition('MemoryPressure')?.status).toBe('True');
  expect([world.ready('best-effort'), world.ready('eater')]).toEqual(['True', 'True']);
  expect([cluster.isEvicted('new'), cluster.creations('new')]).toEqual([true, 0]);
  expect(world.callCount('stopContainer')).toBe(0);
});

test('the kernel’s notification wakes eviction between two checks', async () => {
  const cluster = await startPressureCluster({ config: { kernelMemcgNotification: true } });
  const { pressure, world } = cluster;
  cluster.run('eater');
  await cluster.advance(3_000);
  expect(world.node.memoryWatches.open.map(({ cgroup }) => cgroup)).toContain('/');
  pressure.uses('eater', tooMuch);
  world.node.memoryWatches.signal();
  await cluster.advance(50);
  expect(world.callCount('stopContainer')).toBe(1);
});

test('GET /explain/eviction names the order without evicting anything', async () => {
  const cluster = await startPressureCluster();
  const { pressure, world } = cluster;
  cluster.run('steady');
  cluster.run('eater');
  await cluster.advance(3_000);
  pressure.uses('eater', 2 * gib);
  const answer = JSON.parse(await bodyText(await world.node.request(httpRequest('GET /explain/eviction'))));
  expect(answer).toMatchObject({
    explanation: 'No eviction threshold is met, so no pod would be evicted for pressure.',
    conditions: [],
    overStorageLimit: [],
  });
  const memory = answer.order.find(({ resource }: { resource: string }) => resource === 'memory');
  expect(memory.pods.map(({ pod }: { pod: string }) => pod)).toEqual(['default/eater', 'default/steady']);
  await cluster.advance(30_000);
  expect(world.ready('eater')).toBe('True');
});
