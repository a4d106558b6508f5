// Memory pressure on real containers: which pod goes, how fast, what is reported, and that everything else stays.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { EndRecord } from '../src/history/end-record.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { waitFor } from './rig/wait.ts';
import { logPath } from './support/container-log.ts';
import { KernelCgroups } from './support/kernel-cgroups.ts';
import { container, exitsOnTerm, ignoresTerm, manifest } from './support/manifest.ts';
import { hog, limitedPods, mebibyte, type PressureNode, startPressureNode } from './support/pressure-node.ts';

const transition = { evictionPressureTransitionPeriod: '5s' };
const critical = 2_000_000_000;

/** Of what is available: other programs on the machine take and return memory as well. */
const share = { margin: 0.15, eaten: 0.5 };

/** Takes 128 MiB, and `bytes` more as soon as /tmp/go exists. */
const eats = (bytes: number): string => `trap 'echo term; exit 0' TERM
awk 'BEGIN {
  s = "x"; while (length(s) < ${64 * mebibyte}) s = s s; a[0] = s "."
  while (system("test -e /tmp/go")) system("sleep 0.1")
  for (i = 1; i <= ${Math.ceil(bytes / mebibyte / 64)}; i++) a[i] = s i
  system("sleep 1000")
}' &
wait`;

describeOnRig('eviction for memory', () => {
  let node: PressureNode;
  beforeAll(async () => {
    node = await startPressureNode();
  });
  afterAll(() => node.stop());
  beforeEach(() => onTestFailed(() => console.error(node.cluster.describeState(node.kubelet))));

  test('a container that eats the memory of the node is evicted; others stay; BestEffort pods wait for the end of pressure', async () => {
    let quantity = '';
    let eaten = 0;
    await node.restart(({ workingSetBytes }) => {
      // Odd, so that the quantity is not written in another unit.
      quantity = `${2 * Math.floor((workingSetBytes * (1 - share.margin)) / mebibyte / 2) + 1}Mi`;
      eaten = workingSetBytes * share.eaten;
      return { config: { ...transition, evictionHard: { 'memory.available': quantity } } };
    });
    const resources = { requests: { memory: '64Mi' } };
    const steady = await node.run(
      manifest('steady'),
      manifest('requests', { containers: [container('main', exitsOnTerm, { resources })] }),
    );
    const [eater = {}] = await node.run(
      manifest('eater', { terminationGracePeriodSeconds: 60, containers: [container('main', eats(eaten))] }),
    );
    const order = await waitFor(async () => {
      const { order: orders } = await node.explain();
      const found = orders.find(({ resource }) => resource === 'memory')?.pods ?? [];
      return (found[0]?.usage ?? 0) > 100 * mebibyte && found;
    }, 'the eater to have eaten a little');
    expect(order.map(({ pod }) => pod)).toEqual(['default/eater', 'default/steady', 'default/requests']);
    expect(node.condition('MemoryPressure')).toBe('False');

    await node.exec('eater', 'touch /tmp/go');
    await node.untilCondition('MemoryPressure', 'True');
    const status = await node.untilEvicted('eater');
    node.cluster.createPod(manifest('late'));
    const late = await node.untilEvicted('late');
    expect(late.message).toBe('Pod was rejected: The node had condition: [MemoryPressure]. ');

    expect(status.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: \S+, available: \S+i\. Container main was using \S+i, request is 0, has larger consumption of memory\. $/,
    );
    expect(status.message).toContain(`Threshold quantity: ${quantity},`);
    expect(status.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({
      status: 'True',
      reason: 'TerminationByKubelet',
      message: status.message,
    });
    expect(await node.evictedEvent('eater')).toEqual({
      message: status.message,
      annotations: {
        offending_containers: 'main',
        offending_containers_usage: expect.stringMatching(/^\d+\w*i$/),
        starved_resource: 'memory',
      },
    });
    expect(await node.evictions('memory.available')).toBe(1);
    expect(await node.evictions('allocatableMemory.available')).toBe(0);
    const history = await waitFor(
      async () =>
        (await records(`?uid=${eater.metadata?.uid}`)).find(
          ({ container: name, kind }) => kind === 'evicted' && name === undefined,
        ),
      'the record of the eviction',
    );
    expect(history).toMatchObject({
      reason: 'Evicted',
      rule: `memory.available<${quantity}`,
      figures: { available: expect.any(Number), capacity: expect.any(Number), priority: 0, request: 0 },
    });
    expect(Number(history.figures['usage'])).toBeGreaterThan(200 * mebibyte);

    await node.untilCondition('MemoryPressure', 'False');
    const [after = {}] = await node.run(manifest('after'));
    node.expectUntouched([...steady, after]);
    expect(node.evicted).toEqual(['eater']);
    expect(node.failed).toEqual(['eater', 'late']);
  });

  test('a victim is signalled at once, and killed soon if it ignores SIGTERM, whatever its own grace period', async () => {
    await node.restart(() => limitedTo(2048, 1024));
    const steady = await node.run(hog('steady'));
    await node.fill('steady', 512 * mebibyte);
    const long = { terminationGracePeriodSeconds: 60 };
    const [polite = {}] = await node.run(hog('polite', undefined, long));
    const crossed = whenPodsUse(1024);
    await node.fill('polite', 768 * mebibyte);
    await node.untilEvicted('polite');
    expect(termTime(polite) - (await crossed)).toBeLessThan(2_000);

    await node.untilCondition('MemoryPressure', 'False');
    await node.run(hog('stubborn', ignoresTerm, long));
    await node.fill('stubborn', 768 * mebibyte);
    await node.evictedEvent('stubborn');
    const sinceMs = performance.now();
    const { containerStatuses } = await node.untilEvicted('stubborn');
    expect(performance.now() - sinceMs).toBeLessThan(8_000);
    expect(containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    await node.untilCondition('MemoryPressure', 'False');
    expect(await node.evictions('allocatableMemory.available')).toBe(2);
    node.expectUntouched(steady);
  });

  test('of 50 pods with mixed priorities the announced ones go, one after the other, until the node has recovered', async () => {
    await node.restart(() => limitedTo(4096, 1024));
    node.kubelet.writeManifest('static', manifest('static'));
    const pods = Array.from({ length: 47 }, (_, index) => mixedPod(index));
    const criticalPods = ['first', 'second'].map((name) => hog(name, undefined, { priority: critical }));
    const ready = await node.run(...pods, ...criticalPods);
    const all = [...ready, await node.cluster.untilReady('static-node1')];
    const announced = await waitFor(async () => {
      const memory = (await node.explain()).order.find(({ resource }) => resource === 'memory')?.pods ?? [];
      return memory.length === 50 && memory.every(({ usage }) => usage !== undefined) && memory;
    }, 'figures of all pods');
    const order = announced
      .filter(({ evictable }) => evictable)
      .map(({ pod }) => pod.replace('default/', ''));
    expect(order).toHaveLength(47);
    node.evicted.length = 0;
    node.failed.length = 0;

    // Taken by a critical pod: others have to make room for it.
    const room = (await node.available('allocatableMemory.available')) - 1024 * mebibyte;
    await node.fill('first', room + 250 * mebibyte);
    await node.untilCondition('MemoryPressure', 'True');
    await node.untilCondition('MemoryPressure', 'False');
    const gone = node.evicted.length;
    expect(gone).toBeGreaterThanOrEqual(5);
    expect(gone).toBeLessThanOrEqual(12);
    expect(node.evicted).toEqual(order.slice(0, gone));
    expect(node.failed).toEqual(node.evicted);
    const begun = node.evicted.map(evictionTime);
    const ended = await Promise.all(node.evicted.map(endTime));
    for (const [index, time] of begun.slice(1).entries())
      expect(time).toBeGreaterThanOrEqual(ended[index] ?? 0);
    expect(await node.evictions('allocatableMemory.available')).toBe(gone);
    node.expectUntouched(all.filter(({ metadata }) => !node.evicted.includes(metadata?.name ?? '')));
  });

  /** Evicts when all pods together, which may use `limit`, leave less than `least`, both in MiB. */
  function limitedTo(limit: number, least: number) {
    const evictionHard = { 'memory.available': `${least}Mi` };
    return { config: { ...transition, ...limitedPods(limit * mebibyte), evictionHard } };
  }

  /** The time at which the pods use this many MiB. */
  async function whenPodsUse(amount: number): Promise<number> {
    const cgroups = await KernelCgroups.find();
    const file = cgroups.either(['memory.usage_in_bytes', 'memory.current']);
    const path = cgroups.fileOf('memory', `${node.rig.cgroupParent}/kubepods`, file);
    while (Number(readFileSync(path, 'utf8')) <= amount * mebibyte) await sleep(1);
    return Date.now();
  }

  async function records(query: string): Promise<readonly EndRecord[]> {
    const { text } = await node.kubelet.secure(`/explain/history${query}`);
    return (JSON.parse(text) as { readonly records: readonly EndRecord[] }).records;
  }

  /** When the kubelet logged that it evicts the pod. */
  function evictionTime(name: string): number {
    const [line = ''] = node.kubelet.log.matching(new RegExp(`"Evicting pod" pod="default/${name}"`));
    const [, month, day, time] = /^I(\d\d)(\d\d) ([\d:.]+)/.exec(line) ?? [];
    return Date.parse(`${new Date().getFullYear()}-${month}-${day}T${time}`);
  }

  /** When the container of the pod ended. */
  async function endTime(name: string): Promise<number> {
    const finishedAt = await waitFor(
      async () =>
        (await records(`?pod=default/${name}`)).find((record) => record.finishedAt !== undefined)?.finishedAt,
      `the record of ${name}`,
    );
    return Date.parse(finishedAt);
  }

  /** When the container printed that it received SIGTERM. */
  function termTime(pod: Pod): number {
    const line = readFileSync(logPath(node.kubelet, pod), 'utf8');
    return Date.parse(line.split(' ')[0] ?? '');
  }
});

/** Uses between 20 and 50 MiB; its usage differs by 3 MiB from that of others with its priority. Every fifth stays within its request. */
function mixedPod(index: number): Pod {
  const priority = [0, 100, -10, 1_000_000, 5][index % 5] ?? 0;
  const size = 20 + 3 * Math.floor(index / 5);
  const resources = index % 5 === 2 ? { requests: { memory: '100Mi' } } : {};
  const script = `fallocate -l ${size * mebibyte} /mem/file; ${exitsOnTerm}`;
  const volumeMounts = [{ name: 'mem', mountPath: '/mem' }];
  return hog(`pod-${index}`, '', {
    priority,
    containers: [container('main', script, { resources, volumeMounts })],
  });
}
