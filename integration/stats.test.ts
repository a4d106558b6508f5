// Stats of real containers: CPU, memory, network and disk in the summary and in metrics, also while the runtime does
// not respond.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PodJson, Summary } from '../src/stats/summary/summary.ts';
import { type ParsedFamily, parsePrometheusText, sampleOf } from '../test/clients/prometheus-text.ts';
import { shapeFaults } from '../test/clients/summary-keys.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { untilLogged } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { untilRunning } from './support/pod-state.ts';

const mebibyte = 1024 ** 2;
const heldBytes = 24 * mebibyte;
const servedBytes = 300_000;

const pods = {
  busy: manifest('busy', {
    containers: [
      container('main', "trap 'exit 0' TERM; while :; do :; done", {
        resources: { limits: { cpu: '300m', memory: '64Mi' } },
      }),
    ],
  }),
  idle: manifest('idle', {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [
      container(
        'main',
        `dd if=/dev/zero of=/data/file bs=1M count=3 2>/dev/null; echo written; ${exitsOnTerm}`,
        {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ),
    ],
  }),
  holder: manifest('holder', {
    containers: [
      container(
        'main',
        `dd if=/dev/zero of=/dev/shm/x bs=1M count=24 2>/dev/null; echo held; ${exitsOnTerm}`,
      ),
    ],
  }),
  web: manifest('web', {
    containers: [
      container('main', `mkdir /www; head -c ${servedBytes} /dev/zero > /www/file; httpd -f -p 8080 -h /www`),
    ],
  }),
} as const;

describeOnRig('stats', () => {
  let rig: Rig;
  let kubelet: Kubelet;

  beforeAll(async () => {
    rig = await startRig();
    kubelet = await rig.kubelet();
    for (const [name, pod] of Object.entries(pods)) kubelet.writeManifest(name, pod);
    for (const name of Object.keys(pods)) await untilRunning(kubelet, name);
    for (const name of ['idle', 'holder']) await untilLogged(kubelet, await running(name), 1);
  });
  afterAll(() => rig.stop());

  async function running(name: string) {
    const pod = await kubelet.pod(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    return pod;
  }

  async function ask(path: string): Promise<string> {
    const response = await kubelet.get(kubelet.readOnlyPort, path);
    expect([path, response.status]).toEqual([path, 200]);
    return response.text();
  }
  const summary = async (query = ''): Promise<Summary> =>
    JSON.parse(await ask(`/stats/summary${query}`)) as Summary;
  const metrics = async (path: string): Promise<ReadonlyMap<string, ParsedFamily>> =>
    parsePrometheusText(await ask(path));
  const podOf = ({ pods: all }: Summary, name: string): PodJson => {
    const found = all.find(({ podRef }) => podRef.name === `${name}-${kubelet.nodeName}`);
    if (found === undefined) throw new Error(`the summary has no pod ${name}`);
    return found;
  };

  test('the summary has the recorded shape, and a busy container uses more than an idle one', async () => {
    const cores = (each: Summary, name: string): number =>
      (podOf(each, name).containers[0]?.cpu?.usageNanoCores ?? 0) / 1e9;
    // A volume is measured periodically.
    const summaryOfPods = await waitFor(
      async () => {
        const each = await summary();
        const [data] = podOf(each, 'idle').volume ?? [];
        const isMeasured = (data?.usedBytes ?? 0) >= 3 * mebibyte;
        // One process uses at most one core, except in the first figure, which includes the start of the container.
        const isSteady = cores(each, 'busy') < 1.1 && cores(each, 'busy') > 4 * cores(each, 'idle');
        return isMeasured && isSteady ? each : undefined;
      },
      'a busy container to use more CPU, and a volume to be measured',
      { timeoutMs: 60_000, everyMs: 500 },
    );
    expect(shapeFaults(summaryOfPods)).toEqual([]);
    expect(cores(summaryOfPods, 'busy')).toBeGreaterThan(0.03);
    const held = podOf(summaryOfPods, 'holder').containers[0]?.memory?.workingSetBytes ?? 0;
    expect(held).toBeGreaterThanOrEqual(heldBytes);
    expect(held).toBeLessThan(heldBytes + 8 * mebibyte);
    const busy = podOf(summaryOfPods, 'busy');
    expect(busy.memory?.availableBytes).toBeLessThan(64 * mebibyte);
    expect(busy.process_stats).toEqual({ process_count: 1 });
    expect(podOf(summaryOfPods, 'idle').volume?.[0]).toMatchObject({ name: 'data' });
    expect(podOf(summaryOfPods, 'idle')['ephemeral-storage']?.usedBytes).toBeGreaterThanOrEqual(3 * mebibyte);
    expect(summaryOfPods.node.cpu?.usageCoreNanoSeconds).toBeGreaterThan(busy.cpu?.usageCoreNanoSeconds ?? 0);
    expect(summaryOfPods.node.runtime?.imageFs?.capacityBytes).toBeGreaterThan(0);
    expect(summaryOfPods.node.systemContainers?.map(({ name }) => name)).toContain('pods');
  });

  test('the summary has only CPU and memory on request, also by POST', async () => {
    const summaryOfPods = await summary('?only_cpu_and_memory=true');
    expect(Object.keys(podOf(summaryOfPods, 'busy'))).toEqual([
      'podRef',
      'startTime',
      'containers',
      'cpu',
      'memory',
      'swap',
    ]);
    const url = `http://127.0.0.1:${kubelet.readOnlyPort}/stats/summary`;
    const posted = await fetch(url, { method: 'POST', signal: AbortSignal.timeout(10_000) });
    expect([posted.status, ((await posted.json()) as Summary).node.nodeName]).toEqual([
      200,
      kubelet.nodeName,
    ]);
  });

  test('counts bytes sent over the network', async () => {
    const sent = async (): Promise<number> => podOf(await summary(), 'web').network?.txBytes ?? 0;
    const before = await sent();
    const { status } = await running('web');
    const response = await fetch(`http://${status?.podIP}:8080/file`, {
      signal: AbortSignal.timeout(10_000),
    });
    expect((await response.arrayBuffer()).byteLength).toBe(servedBytes);
    await waitFor(async () => (await sent()) >= before + servedBytes, 'the sent bytes to be counted', {
      timeoutMs: 60_000,
      everyMs: 500,
    });
  });

  test('resource, cAdvisor and kubelet metrics are valid and consistent', async () => {
    const pod = `busy-${kubelet.nodeName}`;
    const resource = await metrics('/metrics/resource');
    const cadvisor = await metrics('/metrics/cadvisor');
    const used = sampleOf(resource, 'container_cpu_usage_seconds_total', { pod, container: 'main' });
    expect(used.value).toBeGreaterThan(0.1);
    expect(used.atMs).toBeGreaterThan(Date.now() - 60_000);
    expect(sampleOf(resource, 'resource_scrape_error').value).toBe(0);
    const own = { pod, container: 'main' };
    expect(sampleOf(cadvisor, 'container_cpu_usage_seconds_total', own).value).toBeGreaterThan(0.1);
    expect(sampleOf(cadvisor, 'container_spec_cpu_quota', own).value).toBe(30_000);
    expect(sampleOf(cadvisor, 'container_spec_memory_limit_bytes', own).value).toBe(64 * mebibyte);
    expect(sampleOf(cadvisor, 'container_cpu_cfs_throttled_periods_total', own).value).toBeGreaterThan(0);
    expect(sampleOf(cadvisor, 'container_processes', own).value).toBe(1);
    expect(sampleOf(cadvisor, 'container_file_descriptors', own).value).toBeGreaterThan(0);
    expect(sampleOf(cadvisor, 'container_network_receive_bytes_total', { pod }).value).toBeGreaterThan(0);
    expect(sampleOf(cadvisor, 'container_fs_usage_bytes', { id: '/' }).value).toBeGreaterThan(0);
    expect(sampleOf(cadvisor, 'machine_memory_bytes').value).toBeGreaterThan(heldBytes);
    expect(sampleOf(cadvisor, 'container_scrape_error').value).toBe(0);
    const kubeletOwn = await metrics('/metrics');
    expect(sampleOf(kubeletOwn, 'process_resident_memory_bytes').value).toBeGreaterThan(10 * mebibyte);
    expect(
      sampleOf(kubeletOwn, 'kubelet_container_log_filesystem_used_bytes', { pod }).value,
    ).toBeGreaterThanOrEqual(0);
    await metrics('/metrics/probes');
    await kubelet.get(kubelet.readOnlyPort, '/healthz');
    const health = await metrics('/metrics/slis');
    expect(sampleOf(health, 'kubernetes_healthcheck', { name: 'runtime' }).value).toBe(1);
  });

  test("the kubelet's own metrics count the starts of pods", async () => {
    const summaryOfPods = await metrics('/metrics');
    const count = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
      sampleOf(summaryOfPods, `kubelet_${name}`, { ...labels, le: '+Inf' }).value;
    const started = Object.keys(pods).length;
    expect({
      seen: count('containers_per_pod_count'),
      taken: count('pod_worker_start_duration_seconds'),
      ran: count('pod_start_duration_seconds'),
      sandboxes: count('run_podsandbox_duration_seconds', { runtime_handler: '' }),
      created: count('pod_worker_duration_seconds', { operation_type: 'create' }),
      active: sampleOf(summaryOfPods, 'kubelet_active_pods', { static: 'true' }).value,
      working: sampleOf(summaryOfPods, 'kubelet_working_pods', {
        lifecycle: 'sync',
        config: 'desired',
        static: 'true',
      }).value,
      orphans: sampleOf(summaryOfPods, 'kubelet_orphaned_runtime_pods_total').value,
    }).toEqual({
      seen: started,
      taken: started,
      ran: started,
      sandboxes: started,
      created: started,
      active: started,
      working: started,
      orphans: 0,
    });
    expect(count('cgroup_manager_duration_seconds', { operation_type: 'create' })).toBeGreaterThanOrEqual(
      started,
    );
    expect(count('pleg_relist_interval_seconds')).toBeGreaterThan(0);
    expect(sampleOf(summaryOfPods, 'kubelet_pleg_last_seen_seconds').value).toBeGreaterThan(
      Date.now() / 1000 - 60,
    );
    expect([1, 2]).toContain(sampleOf(summaryOfPods, 'kubelet_cgroup_version').value);
    expect(sampleOf(summaryOfPods, 'kubernetes_build_info', { major: '1', minor: '37' }).value).toBe(1);
  });

  test('scrapes leave no file open', async () => {
    const open = async (): Promise<number> => sampleOf(await metrics('/metrics'), 'process_open_fds').value;
    const paths = ['/metrics', '/metrics/resource', '/metrics/cadvisor', '/stats/summary'];
    await Promise.all(paths.map(ask));
    const before = await open();
    for (let round = 0; round < 5; round++) await Promise.all([...paths, ...paths].map(ask));
    // Includes connections of this test.
    expect(await open()).toBeLessThan(before + 12);
  });

  test('reports kernel figures while the runtime does not respond', async () => {
    rig.containerd.pause();
    try {
      const summaryOfPods = await waitFor(
        async () => {
          const each = await summary();
          return each.node.runtime?.imageFs === undefined ? each : undefined;
        },
        'a summary without the runtime',
        40_000,
      );
      expect(podOf(summaryOfPods, 'busy').containers[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
      const resource = await metrics('/metrics/resource');
      expect(sampleOf(resource, 'resource_scrape_error').value).toBe(0);
      await metrics('/metrics/cadvisor');
    } finally {
      rig.containerd.resume();
    }
  });
});
