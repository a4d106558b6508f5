// Statistics as a whole, on control groups and a runtime in memory: what is told, how it is shared, and what happens when
// something cannot be learnt.
import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod } from '../../test/builders/builders.ts';
import { parsePrometheusText, sampleOf } from '../../test/clients/prometheus-text.ts';
import { shapeFaults } from '../../test/clients/summary-keys.ts';
import { memoryUsage, StatsWorld } from '../../test/simulate/stats-world.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import type { VolumeUsage } from '../api/ports/volume-stats.ts';
import { KubeletError } from '../base/errors.ts';

const podPath = '/kubepods/burstable/poduid-p';

const volume: VolumeUsage = {
  name: 'data',
  claim: { namespace: 'default', name: 'claim' },
  isLocalEphemeral: false,
  sizeLimitBytes: undefined,
  measuredAtMs: 1_767_225_600_000,
  usedBytes: 10,
  capacityBytes: 100,
  availableBytes: 90,
  inodesUsed: 2,
  inodes: 20,
  inodesFree: 18,
};

function world(): StatsWorld {
  const made = new StatsWorld();
  const now = made.clock.now();
  const container = anObservedContainer({ createdAtMs: now - 10_000, startedAtMs: now - 10_000 });
  made.pods.set('uid-p', anObservedPod({ containers: [container] }));
  made.cgroups.groups.set('/', { cpuNs: 9e9, memory: memoryUsage({ limitBytes: 8000 }) });
  made.cgroups.groups.set('/kubepods', { memory: memoryUsage({ limitBytes: 7000 }) });
  made.cgroups.groups.set('/kubepods/burstable', {});
  made.cgroups.groups.set(podPath, { cpuNs: 6e9 });
  made.cgroups.groups.set(`${podPath}/sandbox-1`, { pids: [41] });
  made.cgroups.groups.set(`${podPath}/c-1`, {
    cpuNs: 5e9,
    pids: [42, 43],
    memory: memoryUsage({ limitBytes: 4000 }),
  });
  made.system.push({ name: 'pods', path: '/kubepods' });
  made.containerStats = [statsOf('c-1')];
  return made;
}

function statsOf(id: string) {
  return {
    attributes: { id, metadata: { name: 'c', attempt: 0 }, labels: {}, annotations: {} },
    cpu: {
      timestamp: 1_767_225_600_000_000_000n,
      usageCoreNanoSeconds: { value: 3_000_000_000n },
      usageNanoCores: undefined,
      psi: undefined,
    },
    memory: {
      timestamp: 1_767_225_600_000_000_000n,
      workingSetBytes: { value: 700n },
      availableBytes: undefined,
      usageBytes: { value: 800n },
      rssBytes: { value: 300n },
      pageFaults: undefined,
      majorPageFaults: undefined,
      psi: undefined,
    },
    writableLayer: {
      timestamp: 1_767_225_600_000_000_000n,
      fsId: { mountpoint: '/var/lib/containerd' },
      usedBytes: { value: 55n },
      inodesUsed: { value: 3n },
    },
    swap: undefined,
    io: undefined,
  };
}

describe('the summary', () => {
  test("has the shape and the order of upstream's", async () => {
    const made = world();
    made.volumes.set('uid-p', [volume, { ...volume, name: 'tmp', claim: undefined, isLocalEphemeral: true }]);
    const summary = await made.stats().summary(false);
    expect(shapeFaults(JSON.parse(JSON.stringify(summary)))).toEqual([]);
    expect(summary).toMatchObject({
      node: {
        nodeName: 'n',
        startTime: '2025-12-31T23:00:00Z',
        cpu: { usageCoreNanoSeconds: 9e9, usageNanoCores: 2_500_000 },
        memory: { availableBytes: 7100, workingSetBytes: 900 },
        network: { name: 'ens3', rxBytes: 100, interfaces: [{ name: 'ens3' }] },
        fs: { capacityBytes: 100_000, usedBytes: 40_000, inodesUsed: 100 },
        runtime: { imageFs: { usedBytes: 77, capacityBytes: 100_000 } },
        rlimit: { maxpid: 32_768, curproc: 7 },
        systemContainers: [{ name: 'pods', memory: { availableBytes: 6100 } }],
      },
      pods: [
        {
          podRef: { name: 'p', namespace: 'default', uid: 'uid-p' },
          cpu: { usageCoreNanoSeconds: 6e9 },
          network: { name: 'eth0', txBytes: 200 },
          process_stats: { process_count: 2 },
          containers: [
            {
              name: 'c',
              cpu: { usageNanoCores: 500_000_000, usageCoreNanoSeconds: 5e9 },
              memory: { availableBytes: 3100, workingSetBytes: 900, rssBytes: 500, pageFaults: 8 },
              rootfs: { usedBytes: 55, inodesUsed: 3, availableBytes: 60_000 },
              logs: { usedBytes: 4096, inodesUsed: 1 },
              swap: { swapUsageBytes: 10 },
            },
          ],
          volume: [
            { name: 'tmp', usedBytes: 10 },
            { name: 'data', pvcRef: { name: 'claim', namespace: 'default' } },
          ],
          // Written, logs of the container, files beside them, and the volume that goes with the pod.
          'ephemeral-storage': { usedBytes: 55 + 4096 + 4096 + 10, inodesUsed: 3 + 1 + 1 + 2 },
        },
      ],
    });
  });

  test('cpu and memory alone: the runtime and the disk are not asked', async () => {
    const made = world();
    const summary = await made.stats().summary(true);
    expect(made.asked).toEqual([]);
    expect(Object.keys(summary.node)).toEqual([
      'nodeName',
      'systemContainers',
      'startTime',
      'cpu',
      'memory',
      'swap',
    ]);
    expect(Object.keys(summary.pods[0] ?? {})).toEqual([
      'podRef',
      'startTime',
      'containers',
      'cpu',
      'memory',
      'swap',
    ]);
  });

  test('without the gate there is no pressure', async () => {
    const made = world();
    const settings = { nodeName: 'n', bootedAtMs: 0, psi: false };
    const text = JSON.stringify(await made.stats({ settings }).summary(false));
    expect(text).not.toContain('"io"');
  });

  test('the rate is that since the last collection', async () => {
    const made = world();
    const stats = made.stats();
    // A container's age is the runtime's word. That of all pods' cgroup nobody knows: after a kubelet's restart it is old.
    const [first] = (await stats.summary(true)).node.systemContainers ?? [];
    expect(first?.cpu).not.toHaveProperty('usageNanoCores');
    await made.clock.advance(10_000);
    made.cgroups.groups.set(`${podPath}/c-1`, { cpuNs: 6e9 });
    const summary = await stats.summary(true);
    expect(summary.pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(100_000_000);
    expect(summary.node.systemContainers?.[0]?.cpu?.usageNanoCores).toBe(0);
  });
});

test('a container began when its runtime says, although the kernel dates its cgroup later', async () => {
  const made = world();
  const began = Math.trunc(made.clock.now() / 1000) - 10;
  const told = parsePrometheusText(await made.stats().cadvisorMetrics());
  const of = (labels: Readonly<Record<string, string>>): number =>
    sampleOf(told, 'container_start_time_seconds', labels).value;
  expect(of({ container: 'c' })).toBe(began);
  expect(of({ id: '/kubepods' })).toBe(began + 5);
});

describe('sharing', () => {
  test('many who ask at once, and for 10 s after, share one collection', async () => {
    const made = world();
    const stats = made.stats();
    await Promise.all([
      stats.summary(false),
      stats.summary(false),
      stats.resourceMetrics(),
      stats.cadvisorMetrics(),
    ]);
    const reads = made.cgroups.reads;
    await made.clock.advance(9_000);
    await Promise.all([stats.summary(false), stats.resourceMetrics(), stats.cadvisorMetrics()]);
    expect([made.cgroups.reads, made.asked]).toEqual([reads, ['containers', 'images']]);
    await made.clock.advance(2_000);
    await stats.resourceMetrics();
    expect(made.cgroups.reads).toBeGreaterThan(reads);
  });

  test('nothing is read when nobody asks', async () => {
    const made = world();
    const stats = made.stats();
    const end = new AbortController();
    const { stopped } = await stats.start(end.signal);
    await made.clock.advance(600_000);
    expect([made.cgroups.reads, made.asked, made.clock.pendingTimers()]).toEqual([0, [], 0]);
    end.abort();
    await stopped;
  });

  test('a long collection pauses now and then', async () => {
    const made = world();
    for (let index = 0; index < 110; index++) {
      const uid = `many-${index}`;
      made.pods.set(uid, anObservedPod({ uid: asPodUid(uid), name: uid }));
      made.cgroups.groups.set(`/kubepods/pod${uid}`, {});
      made.cgroups.groups.set(`/kubepods/pod${uid}/c-1`, {});
    }
    let spentMs = 0;
    let pauses = 0;
    // Every read takes half a millisecond.
    made.cgroups.onRead = () => void (spentMs += 0.5);
    const clock = Object.assign(Object.create(made.clock) as typeof made.clock, {
      monotonic: () => spentMs,
      now: () => made.clock.now(),
      setTimer: (ms: number, fn: () => void) => made.clock.setTimer(ms, fn),
    });
    await made.stats({ clock, readers: { pause: () => Promise.resolve(void pauses++) } }).resourceMetrics();
    expect(pauses).toBeGreaterThan(20);
  });
});

describe('faults', () => {
  test('a runtime that stalls: what the kernel tells is there within the deadline', async () => {
    const made = world();
    made.stalled = true;
    const stats = made.stats();
    const asked = stats.summary(false);
    await made.clock.advance(3_000);
    const summary = await asked;
    expect(summary.node.runtime).toEqual({});
    expect(summary.pods[0]?.containers[0]).toMatchObject({ cpu: { usageCoreNanoSeconds: 5e9 } });
    expect(summary.pods[0]?.containers[0]?.rootfs).toBeUndefined();
    expect(made.warned).toEqual(['Some statistics could not be learnt']);
    expect(made.clock.pendingTimers()).toBe(0);
  });

  test('containers that are no cgroups here: the runtime is asked, and its silence sets the error', async () => {
    const made = world();
    for (const path of [podPath, `${podPath}/c-1`, `${podPath}/sandbox-1`]) made.cgroups.groups.delete(path);
    const told = parsePrometheusText(await made.stats().resourceMetrics());
    expect(sampleOf(told, 'container_cpu_usage_seconds_total', { container: 'c', pod: 'p' }).value).toBe(3);
    expect(sampleOf(told, 'pod_memory_working_set_bytes', { pod: 'p' }).value).toBe(700);
    expect(sampleOf(told, 'resource_scrape_error').value).toBe(0);
    made.stalled = true;
    const asked = made.stats().resourceMetrics();
    await made.clock.advance(3_000);
    const silent = parsePrometheusText(await asked);
    expect(sampleOf(silent, 'resource_scrape_error').value).toBe(1);
    expect(sampleOf(silent, 'node_memory_working_set_bytes').value).toBe(900);
  });

  test('a container that vanishes in the middle is left out, the rest is told', async () => {
    const made = world();
    made.cgroups.onRead = (path) => {
      if (path === podPath) made.cgroups.groups.delete(`${podPath}/c-1`);
    };
    made.containerStats = [];
    const text = await made.stats().cadvisorMetrics();
    const told = parsePrometheusText(text);
    expect(text).not.toContain('container="c"');
    expect(sampleOf(told, 'container_memory_working_set_bytes', { id: podPath, pod: 'p' }).value).toBe(900);
    expect(sampleOf(told, 'container_scrape_error').value).toBe(0);
  });

  test('a file that cannot be read is a fault of that scrape alone', async () => {
    const made = world();
    const stats = made.stats();
    made.cgroups.onRead = (path) => {
      if (path === podPath) made.unreadable.record(`${path}/cpu.stat`, new Error('EIO'));
    };
    expect(sampleOf(parsePrometheusText(await stats.resourceMetrics()), 'resource_scrape_error').value).toBe(
      1,
    );
    made.cgroups.onRead = () => undefined;
    await made.clock.advance(10_000);
    expect(sampleOf(parsePrometheusText(await stats.resourceMetrics()), 'resource_scrape_error').value).toBe(
      0,
    );
  });

  test('a disk that does not answer, and volumes that take long', async () => {
    const made = world();
    const never = (): Promise<never> => new Promise(() => undefined);
    const stats = made.stats({ readers: { host: fakeHostThatHangs(never) }, volumes: { ofPod: never } });
    const asked = stats.summary(false);
    await made.clock.advance(12_000);
    const summary = await asked;
    expect(summary.node.fs).toBeUndefined();
    expect(summary.pods).toHaveLength(1);
    expect(made.clock.pendingTimers()).toBe(0);
  });

  test('an end in the middle leaves nothing behind', async () => {
    const made = world();
    made.stalled = true;
    const stats = made.stats();
    const end = new AbortController();
    const { stopped } = await stats.start(end.signal);
    const asked = stats.summary(false);
    end.abort();
    await Promise.all([stopped, asked]);
    expect(made.clock.pendingTimers()).toBe(0);
  });

  test('a machine without control groups, and a runtime that refuses', async () => {
    const made = world();
    const refuse = (): Promise<never> =>
      Promise.reject(new KubeletError('unavailable', 'UNAVAILABLE', 'away'));
    const runtime = { listContainerStats: refuse, listPodSandboxStats: refuse, imageFsInfo: refuse };
    const stats = made.stats({ readers: { cgroups: undefined }, runtime });
    expect((await stats.summary(false)).pods[0]?.podRef.name).toBe('p');
    expect(sampleOf(parsePrometheusText(await stats.cadvisorMetrics()), 'container_scrape_error').value).toBe(
      1,
    );
  });
});

function fakeHostThatHangs(never: () => Promise<never>) {
  return {
    interfaces: () => [],
    defaultInterface: () => undefined,
    tasks: () => ({ max: undefined, current: undefined }),
    processDetails: () => ({ descriptors: 0, sockets: 0 }),
    softOpenFiles: () => undefined,
    deviceFileSystems: () => Promise.resolve([]),
    space: never,
    filesIn: never,
    file: never,
  };
}

describe('what eviction decides by', () => {
  test('amounts of the node and of pods; what is not known is not zero', async () => {
    const made = world();
    made.volumes.set('uid-p', [volume]);
    const load = await made.stats().load();
    expect(load).toMatchObject({
      memory: { capacityBytes: 8000, workingSetBytes: 900, availableBytes: 7100 },
      podMemory: { limitBytes: 7000, workingSetBytes: 900 },
      nodeFs: { capacityBytes: 100_000, availableBytes: 60_000 },
      imageFs: { capacityBytes: 100_000 },
      processes: { max: 32_768, current: 7 },
      pods: [
        {
          uid: 'uid-p',
          workingSetBytes: 900,
          processes: 2,
          ephemeralBytes: 55 + 4096 + 4096,
          containers: [{ name: 'c', workingSetBytes: 900, writtenBytes: 55, logBytes: 4096 }],
          volumes: [{ name: 'data' }],
        },
      ],
    });
    made.cgroups.groups.clear();
    made.containerStats = [];
    const unknown = await made.stats().load();
    expect([unknown.memory, unknown.pods[0]?.workingSetBytes]).toEqual([undefined, undefined]);
  });

  test('who needs it fresh gets it fresh', async () => {
    const made = world();
    const stats = made.stats();
    await stats.load();
    await made.clock.advance(1_000);
    made.cgroups.groups.set('/', { memory: memoryUsage({ workingSetBytes: 5, limitBytes: 8000 }) });
    expect((await stats.load()).memory?.workingSetBytes).toBe(900);
    expect((await stats.load(0)).memory?.workingSetBytes).toBe(5);
  });
});
