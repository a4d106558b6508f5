// Statistics end to end, on in-memory cgroups and an in-memory runtime: what is reported, how collections are shared, and
// what happens on faults.
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
  const env = new StatsWorld();
  const now = env.clock.now();
  const container = anObservedContainer({ createdAtMs: now - 10_000, startedAtMs: now - 10_000 });
  env.pods.set('uid-p', anObservedPod({ containers: [container] }));
  env.cgroups.groups.set('/', { cpuNs: 9e9, memory: memoryUsage({ limitBytes: 8000 }) });
  env.cgroups.groups.set('/kubepods', { memory: memoryUsage({ limitBytes: 7000 }) });
  env.cgroups.groups.set('/kubepods/burstable', {});
  env.cgroups.groups.set(podPath, { cpuNs: 6e9 });
  env.cgroups.groups.set(`${podPath}/sandbox-1`, { pids: [41] });
  env.cgroups.groups.set(`${podPath}/c-1`, {
    cpuNs: 5e9,
    pids: [42, 43],
    memory: memoryUsage({ limitBytes: 4000 }),
  });
  env.system.push({ name: 'pods', path: '/kubepods' });
  env.containerStats = [statsOf('c-1')];
  return env;
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

describe('summary', () => {
  test("has upstream's fields in upstream's order", async () => {
    const env = world();
    env.volumes.set('uid-p', [volume, { ...volume, name: 'tmp', claim: undefined, isLocalEphemeral: true }]);
    const summary = await env.stats().summary(false);
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
          // Writable layer, container logs, other files of the pod, and the ephemeral volume.
          'ephemeral-storage': { usedBytes: 55 + 4096 + 4096 + 10, inodesUsed: 3 + 1 + 1 + 2 },
        },
      ],
    });
  });

  test('reads neither runtime nor disk for CPU and memory only', async () => {
    const env = world();
    const summary = await env.stats().summary(true);
    expect(env.runtimeCalls).toEqual([]);
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

  test('omits pressure without the gate', async () => {
    const env = world();
    const settings = { nodeName: 'n', bootedAtMs: 0, psi: false, hugePageBytes: 0 };
    const text = JSON.stringify(await env.stats({ settings }).summary(false));
    expect(text).not.toContain('"io"');
  });

  test('subtracts huge pages from the available memory of the node', async () => {
    const env = world();
    const settings = { nodeName: 'n', bootedAtMs: 0, psi: true, hugePageBytes: 7_000 };
    const { node } = await env.stats({ settings }).summary(false);
    expect(node.memory).toMatchObject({ availableBytes: 100, workingSetBytes: 900 });
    expect(node.systemContainers?.[0]?.memory?.availableBytes).toBe(6100);
    const short = env.stats({ settings: { ...settings, hugePageBytes: 7_200 } });
    expect((await short.summary(true)).node.memory?.availableBytes).toBe(0);
  });

  test('reports the CPU rate since the last collection', async () => {
    const env = world();
    const stats = env.stats();
    // The runtime reports a container's age. The age of the cgroup of all pods is unknown: it outlives the kubelet.
    const [first] = (await stats.summary(true)).node.systemContainers ?? [];
    expect(first?.cpu).not.toHaveProperty('usageNanoCores');
    await env.clock.advance(10_000);
    env.cgroups.groups.set(`${podPath}/c-1`, { cpuNs: 6e9 });
    const summary = await stats.summary(true);
    expect(summary.pods[0]?.containers[0]?.cpu?.usageNanoCores).toBe(100_000_000);
    expect(summary.node.systemContainers?.[0]?.cpu?.usageNanoCores).toBe(0);
  });
});

test('reports the runtime’s start time of a container, although the kernel dates its cgroup later', async () => {
  const env = world();
  const began = Math.trunc(env.clock.now() / 1000) - 10;
  const samples = parsePrometheusText(await env.stats().cadvisorMetrics());
  const of = (labels: Readonly<Record<string, string>>): number =>
    sampleOf(samples, 'container_start_time_seconds', labels).value;
  expect(of({ container: 'c' })).toBe(began);
  expect(of({ id: '/kubepods' })).toBe(began + 5);
});

describe('sharing', () => {
  test('shares one collection among concurrent callers and for 10 s', async () => {
    const env = world();
    const stats = env.stats();
    await Promise.all([
      stats.summary(false),
      stats.summary(false),
      stats.resourceMetrics(),
      stats.cadvisorMetrics(),
    ]);
    const reads = env.cgroups.reads;
    await env.clock.advance(9_000);
    await Promise.all([stats.summary(false), stats.resourceMetrics(), stats.cadvisorMetrics()]);
    expect([env.cgroups.reads, env.runtimeCalls]).toEqual([reads, ['containers', 'images']]);
    await env.clock.advance(2_000);
    await stats.resourceMetrics();
    expect(env.cgroups.reads).toBeGreaterThan(reads);
  });

  test('reads nothing without a request', async () => {
    const env = world();
    const stats = env.stats();
    const end = new AbortController();
    const { stopped } = await stats.start(end.signal);
    await env.clock.advance(600_000);
    expect([env.cgroups.reads, env.runtimeCalls, env.clock.pendingTimers()]).toEqual([0, [], 0]);
    end.abort();
    await stopped;
  });

  test('pauses regularly during a long collection', async () => {
    const env = world();
    for (let index = 0; index < 110; index++) {
      const uid = `many-${index}`;
      env.pods.set(uid, anObservedPod({ uid: asPodUid(uid), name: uid }));
      env.cgroups.groups.set(`/kubepods/pod${uid}`, {});
      env.cgroups.groups.set(`/kubepods/pod${uid}/c-1`, {});
    }
    let spentMs = 0;
    let pauses = 0;
    // Every read takes half a millisecond.
    env.cgroups.onRead = () => void (spentMs += 0.5);
    const clock = Object.assign(Object.create(env.clock) as typeof env.clock, {
      monotonic: () => spentMs,
      now: () => env.clock.now(),
      setTimer: (ms: number, fn: () => void) => env.clock.setTimer(ms, fn),
    });
    await env.stats({ clock, readers: { pause: () => Promise.resolve(void pauses++) } }).resourceMetrics();
    expect(pauses).toBeGreaterThan(20);
  });
});

describe('faults', () => {
  test('reports the kernel’s figures within the deadline while the runtime stalls', async () => {
    const env = world();
    env.stalled = true;
    const stats = env.stats();
    const pending = stats.summary(false);
    await env.clock.advance(3_000);
    const summary = await pending;
    expect(summary.node.runtime).toEqual({});
    expect(summary.pods[0]?.containers[0]).toMatchObject({ cpu: { usageCoreNanoSeconds: 5e9 } });
    expect(summary.pods[0]?.containers[0]?.rootfs).toBeUndefined();
    expect(env.warned).toEqual(['Failed to collect some statistics']);
    expect(env.clock.pendingTimers()).toBe(0);
  });

  test('queries the runtime for containers without a cgroup, and reports a scrape error if it stalls', async () => {
    const env = world();
    for (const path of [podPath, `${podPath}/c-1`, `${podPath}/sandbox-1`]) env.cgroups.groups.delete(path);
    const samples = parsePrometheusText(await env.stats().resourceMetrics());
    expect(sampleOf(samples, 'container_cpu_usage_seconds_total', { container: 'c', pod: 'p' }).value).toBe(
      3,
    );
    expect(sampleOf(samples, 'pod_memory_working_set_bytes', { pod: 'p' }).value).toBe(700);
    expect(sampleOf(samples, 'resource_scrape_error').value).toBe(0);
    env.stalled = true;
    const pending = env.stats().resourceMetrics();
    await env.clock.advance(3_000);
    const silent = parsePrometheusText(await pending);
    expect(sampleOf(silent, 'resource_scrape_error').value).toBe(1);
    expect(sampleOf(silent, 'node_memory_working_set_bytes').value).toBe(900);
  });

  test('omits a container that disappears during the collection', async () => {
    const env = world();
    env.cgroups.onRead = (path) => {
      if (path === podPath) env.cgroups.groups.delete(`${podPath}/c-1`);
    };
    env.containerStats = [];
    const text = await env.stats().cadvisorMetrics();
    const samples = parsePrometheusText(text);
    expect(text).not.toContain('container="c"');
    expect(sampleOf(samples, 'container_memory_working_set_bytes', { id: podPath, pod: 'p' }).value).toBe(
      900,
    );
    expect(sampleOf(samples, 'container_scrape_error').value).toBe(0);
  });

  test('reports an unreadable file as a fault of that scrape only', async () => {
    const env = world();
    const stats = env.stats();
    env.cgroups.onRead = (path) => {
      if (path === podPath) env.unreadable.record(`${path}/cpu.stat`, new Error('EIO'));
    };
    expect(sampleOf(parsePrometheusText(await stats.resourceMetrics()), 'resource_scrape_error').value).toBe(
      1,
    );
    env.cgroups.onRead = () => undefined;
    await env.clock.advance(10_000);
    expect(sampleOf(parsePrometheusText(await stats.resourceMetrics()), 'resource_scrape_error').value).toBe(
      0,
    );
  });

  test('omits a hung disk and slow volumes', async () => {
    const env = world();
    const never = (): Promise<never> => new Promise(() => undefined);
    const stats = env.stats({ readers: { host: fakeHostThatHangs(never) }, volumes: { ofPod: never } });
    const pending = stats.summary(false);
    await env.clock.advance(12_000);
    const summary = await pending;
    expect(summary.node.fs).toBeUndefined();
    expect(summary.pods).toHaveLength(1);
    expect(env.clock.pendingTimers()).toBe(0);
  });

  test('volumes that do not respond keep neither their own pod nor another from being measured', async () => {
    const env = world();
    const [pod] = env.pods.values();
    for (let at = 0; at < 20; at++)
      env.pods.set(
        `uid-${at}`,
        anObservedPod({ uid: asPodUid(`uid-${at}`), containers: pod?.containers ?? [] }),
      );
    const stats = env.stats({
      volumes: {
        ofPod: (uid) => (uid === 'uid-19' ? Promise.resolve([volume]) : new Promise(() => undefined)),
      },
    });
    const pending = stats.disk();
    await env.clock.advance(12_000);
    const { pods } = await pending;
    expect(pods.size).toBe(21);
    expect(pods.get('uid-19')?.volumes).toEqual([volume]);
    expect(pods.get('uid-0')?.volumes).toEqual([]);
  });

  test('leaves no timers when stopped during a collection', async () => {
    const env = world();
    env.stalled = true;
    const stats = env.stats();
    const end = new AbortController();
    const { stopped } = await stats.start(end.signal);
    const pending = stats.summary(false);
    end.abort();
    await Promise.all([stopped, pending]);
    expect(env.clock.pendingTimers()).toBe(0);
  });

  test('works without cgroups and with an unavailable runtime', async () => {
    const env = world();
    const refuse = (): Promise<never> =>
      Promise.reject(new KubeletError('unavailable', 'UNAVAILABLE', 'unavailable'));
    const runtime = { listContainerStats: refuse, listPodSandboxStats: refuse, imageFsInfo: refuse };
    const stats = env.stats({ readers: { cgroups: undefined }, runtime });
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
