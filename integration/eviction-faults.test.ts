// Faults during node pressure on real containers: pressure that ends in time, a kubelet that is killed, an unreachable runtime, a
// clock that is stepped, and a container that forks without end.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, ignoresTerm, manifest } from './support/manifest.ts';
import { hog, limitedPods, mebibyte, type PressureNode, startPressureNode } from './support/pressure-node.ts';
import { fakeTimeUnavailableReason, SteppedClock } from './support/stepped-clock.ts';

const softGraceMs = 4_000;
const podGraceSeconds = 3;
/** All pods together may use 2 GiB; the threshold is crossed when they use more than 1 GiB. */
const limitBytes = 2048 * mebibyte;
const leastBytes = 1024 * mebibyte;
const takenBytes = 1280 * mebibyte;
const memory = 'allocatableMemory.available';
/** Other programs on the machine start processes as well. */
const pids = { margin: 800, taken: 1600 };
const hour = 3600;
const steps =
  fakeTimeUnavailableReason === undefined
    ? 'although the clock is stepped'
    : `without steps of the clock (${fakeTimeUnavailableReason})`;

describeOnRig('faults during node pressure', () => {
  let node: PressureNode;
  let clock: SteppedClock;
  let steady: readonly Pod[];

  beforeAll(async () => {
    node = await startPressureNode();
    clock = new SteppedClock(node.rig.workspace.dir);
    await node.restart((room) => ({
      ...(fakeTimeUnavailableReason === undefined && { env: clock.env }),
      config: {
        evictionHard: { 'pid.available': `${room.pids - pids.margin}` },
        // Unlike memory.available it is not affected by other programs on the machine.
        evictionSoft: { [memory]: `${leastBytes}` },
        evictionSoftGracePeriod: { [memory]: `${softGraceMs}ms` },
        ...limitedPods(limitBytes),
        evictionMaxPodGracePeriod: podGraceSeconds,
        evictionPressureTransitionPeriod: '2s',
      },
    }));
    node.kubelet.writeManifest('static', manifest('static'));
    steady = [
      ...(await node.run(manifest('steady'), manifest('other'))),
      await node.cluster.untilReady('static-node1'),
    ];
  });
  afterAll(() => node.stop());
  beforeEach(() => onTestFailed(() => console.error(node.cluster.describeState(node.kubelet))));
  afterEach(() => {
    node.evicted.length = 0;
    node.expectUntouched(steady);
  });

  test('a soft threshold that is met for less than its grace period evicts nothing', async () => {
    const [brief = {}] = await node.run(hog('brief'));
    await node.fill('brief', takenBytes);
    await node.untilCondition('MemoryPressure', 'True');
    expect((await node.explain()).explanation).toBe(
      `The threshold of ${memory} is met: the pod default/brief would be evicted if this lasts for ${softGraceMs / 1000} s.`,
    );
    await node.drain('brief');
    await node.untilCondition('MemoryPressure', 'False');
    await sleep(softGraceMs);
    expect(node.evicted).toEqual([]);
    node.expectUntouched([brief]);
    await node.deletePods('brief');
  });

  test(`a soft threshold evicts after its grace period, with a limited grace period of the pod, ${steps}`, async () => {
    await node.run(hog('lasting', ignoresTerm, { terminationGracePeriodSeconds: 60 }));
    await node.fill('lasting', takenBytes);
    await node.untilCondition('MemoryPressure', 'True');
    const metMs = performance.now();
    clock.set(hour);
    await sleep(softGraceMs / 2);
    expect(node.evicted).toEqual([]);
    expect(node.condition('MemoryPressure')).toBe('True');
    clock.set(0);
    await waitFor(() => node.evicted.length > 0, 'the eviction');
    const evictedMs = performance.now();
    expect(evictedMs - metMs).toBeGreaterThan(softGraceMs - 1_500);
    expect(evictedMs - metMs).toBeLessThan(softGraceMs + 3_000);
    const { containerStatuses, message } = await node.untilEvicted('lasting');
    const tookMs = performance.now() - evictedMs;
    expect(tookMs).toBeGreaterThan(podGraceSeconds * 1_000 - 500);
    expect(tookMs).toBeLessThan(podGraceSeconds * 1_000 + 5_000);
    expect(containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    expect(message).toMatch(/^The node was low on resource: memory\. Threshold quantity: /);
    expect(await node.evictions(memory)).toBe(1);
    await node.untilCondition('MemoryPressure', 'False');
    expect(node.evicted).toEqual(['lasting']);
    await node.deletePods('lasting');
  });

  test('a kubelet killed during an eviction is succeeded by one that finishes it', async () => {
    const [victim = {}] = await node.run(hog('halfway', ignoresTerm, { terminationGracePeriodSeconds: 60 }));
    await node.fill('halfway', takenBytes);
    const { message } = await node.evictedEvent('halfway');
    await waitFor(() => unfinished().includes(victim.metadata?.uid ?? ''), 'the record of the eviction');
    const isRunning = node.cluster.pod('halfway')?.status?.phase === 'Running';
    await node.kubelet.kill9();
    expect(isRunning).toBe(true);
    await node.drain('halfway');
    const from = node.kubelet.log.end;
    await node.kubelet.start();
    const status = await node.untilEvicted('halfway');
    expect(status.message).toBe(message);
    expect(status.conditions?.some(({ type }) => type === 'DisruptionTarget')).toBe(true);
    expect(status.containerStatuses).toMatchObject([
      { restartCount: 0, state: { terminated: { exitCode: 137 } } },
    ]);
    await waitFor(() => unfinished() === '{}', 'the record to be removed');
    expect(node.kubelet.log.matching(/"Container started"/, from)).toEqual([]);
    expect(node.kubelet.log.matching(/"Resuming the eviction of a pod"/, from)).toHaveLength(1);
    await node.untilCondition('MemoryPressure', 'False');
    await node.deletePods('halfway');
  });

  test('while the runtime is unreachable the condition is reported, and one pod is evicted when it is back', async () => {
    const [spared = {}] = await node.run(hog('spared'), hog('chosen'));
    await node.fill('spared', 64 * mebibyte);
    await node.fill('chosen', takenBytes);
    await node.rig.containerd.stop();
    await node.untilCondition('MemoryPressure', 'True');
    await sleep(softGraceMs + 2_000);
    expect(node.evicted).toEqual([]);
    expect(node.condition('MemoryPressure')).toBe('True');
    await node.rig.containerd.start();
    await node.untilEvicted('chosen');
    await node.untilCondition('MemoryPressure', 'False');
    expect(node.evicted).toEqual(['chosen']);
    for (const { metadata } of [spared, ...steady]) await node.cluster.untilReady(metadata?.name ?? '');
    node.expectUntouched([spared]);
    await node.deletePods('spared', 'chosen');
  });

  test('a container that forks is evicted for process IDs', async () => {
    const before = await node.available('pid.available');
    const script = `i=0; while [ $i -lt ${pids.taken} ]; do sleep 1000 & i=$((i+1)); done; wait`;
    await node.run(manifest('forks', { containers: [container('main', script)] }));
    await node.untilCondition('PIDPressure', 'True');
    node.cluster.createPod(manifest('refused'));
    expect((await node.untilEvicted('refused')).message).toBe(
      'Pod was rejected: The node had condition: [PIDPressure]. ',
    );
    const { message } = await node.untilEvicted('forks');
    expect(message).toMatch(
      /^The node was low on resource: pids\. Threshold quantity: \d+, available: \d+\. $/,
    );
    expect(await node.evictedEvent('forks')).toEqual({
      message,
      annotations: { offending_containers: '', offending_containers_usage: '', starved_resource: 'pids' },
    });
    expect(await node.evictions('pid.available')).toBe(1);
    await node.untilCondition('PIDPressure', 'False');
    expect(await node.available('pid.available')).toBeGreaterThan(before - pids.margin);
    expect(node.evicted).toEqual(['forks']);
  });

  function unfinished(): string {
    return readFileSync(join(node.kubelet.rootDir, 'evictions'), 'utf8').trim();
  }
});
