// In-place resize: the requested resources are in the cgroup files of pod and container, and in the status.
import { beforeAll, expect, test } from 'vitest';
import type { Container, Pod, PodCondition } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import type { Cluster } from './support/cluster.ts';
import { KernelCgroups } from './support/kernel-cgroups.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

const mebi = 1024 * 1024;
type Resources = NonNullable<Container['resources']>;

/** Parses `100m/200m 32Mi/64Mi`: request and limit of CPU, then of memory. */
function amounts(text: string): Resources {
  const [[cpu = '', cpuLimit = ''] = [], [memory = '', memoryLimit = ''] = []] = text
    .split(' ')
    .map((each) => each.split('/'));
  return { requests: { cpu, memory }, limits: { cpu: cpuLimit, memory: memoryLimit } };
}

describeOnRig('resize', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let files: KernelCgroups;

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));
  beforeAll(async () => {
    files = await KernelCgroups.find();
  });

  async function run(
    name: string,
    text: string,
    over: Partial<Container> = {},
    script = exitsOnTerm,
  ): Promise<Pod> {
    const containers = [container('main', script, { resources: amounts(text), ...over })];
    cluster.createPod(manifest(name, { containers }));
    return await cluster.untilReady(name);
  }

  function resize(name: string, text: string): void {
    const containers = (cluster.pod(name)?.spec?.containers ?? []).map((each) => ({
      ...each,
      resources: amounts(text),
    }));
    cluster.double.objects.patch('pods', 'default', name, { spec: { containers } }, 'resize');
  }

  const conditionsOf = (pod: Pod | undefined): readonly PodCondition[] =>
    (pod?.status?.conditions ?? []).filter(({ type }) => type.startsWith('PodResize'));

  /** Waits until the resize is complete: the status has the requested resources, and no resize condition. */
  const untilSized = (name: string, text: string): Promise<Pod> =>
    cluster.untilPod(name, `to have ${text}`, ({ containerStatuses = [] }, pod) => {
      const [status] = containerStatuses;
      const same = JSON.stringify(sorted(status?.resources)) === JSON.stringify(sorted(amounts(text)));
      return same && status?.state?.running !== undefined && conditionsOf(pod).length === 0;
    });

  const sorted = (resources: Resources | undefined): unknown =>
    [resources?.limits, resources?.requests].map((list) =>
      Object.entries(list ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );

  /** The kernel's limits of the pod's cgroup and its container's: CPU quota in microseconds, memory in bytes. */
  function kernel(pod: Pod): Record<string, readonly string[]> {
    const { metadata, status } = pod;
    const folder = status?.qosClass === 'Guaranteed' ? '' : 'burstable';
    const id = status?.containerStatuses?.[0]?.containerID?.split('://')[1] ?? '';
    const path = `${rig.workspace.name}/kubepods/${folder}/pod${metadata?.uid}`;
    const limits = (cgroup: string): readonly string[] =>
      (['cpu.cfs_quota_us', 'memory.limit_in_bytes'] as const).map((file) => files.amount(cgroup, file));
    return { pod: limits(path), container: limits(`${path}/${id}`) };
  }

  const eventsOf = (name: string): readonly string[] =>
    cluster.double.objects
      .list('events', 'default')
      .filter(
        ({ involvedObject, reason = '' }) => involvedObject.name === name && reason.startsWith('Resize'),
      )
      .map(({ message, reason }) => `${reason} ${message}`);

  /** Runs a script in the pod's container. */
  async function exec(pod: Pod, script: string): Promise<void> {
    const containerId = pod.status?.containerStatuses?.[0]?.containerID?.split('://')[1] ?? '';
    const { exitCode } = await rig.cri.execSync({ containerId, cmd: ['sh', '-c', script], timeout: 30n });
    expect(exitCode).toBe(0);
  }

  const startedAt = (pod: Pod | undefined): readonly unknown[] => {
    const status = pod?.status?.containerStatuses?.[0];
    return [status?.containerID, status?.restartCount];
  };

  test('a Burstable pod is resized up and down in kernel and status, without a restart', async () => {
    const pod = await run('burst', '100m/200m 32Mi/64Mi');
    expect(kernel(pod)).toEqual({ pod: ['20000', `${64 * mebi}`], container: ['20000', `${64 * mebi}`] });
    const before = startedAt(pod);
    resize('burst', '150m/400m 64Mi/128Mi');
    const grown = await untilSized('burst', '150m/400m 64Mi/128Mi');
    expect(kernel(grown)).toEqual({ pod: ['40000', `${128 * mebi}`], container: ['40000', `${128 * mebi}`] });
    expect(grown.status?.containerStatuses?.[0]?.allocatedResources).toEqual({ cpu: '150m', memory: '64Mi' });
    resize('burst', '50m/100m 16Mi/32Mi');
    const shrunk = await untilSized('burst', '50m/100m 16Mi/32Mi');
    expect(kernel(shrunk)).toEqual({ pod: ['10000', `${32 * mebi}`], container: ['10000', `${32 * mebi}`] });
    expect([startedAt(shrunk), shrunk.status?.observedGeneration]).toEqual([before, 3]);
    await expect.poll(() => eventsOf('burst').length).toBe(4);
  });

  test('a Guaranteed pod is resized, and a resize beyond the node is deferred', async () => {
    const pod = await run('exact', '100m/100m 32Mi/32Mi');
    const before = startedAt(pod);
    resize('exact', '200m/200m 64Mi/64Mi');
    const grown = await untilSized('exact', '200m/200m 64Mi/64Mi');
    expect(kernel(grown)).toEqual({ pod: ['20000', `${64 * mebi}`], container: ['20000', `${64 * mebi}`] });
    resize('exact', '500/500 64Mi/64Mi');
    const refused = await cluster.untilPod(
      'exact',
      'to be deferred',
      (_, each) => conditionsOf(each).length > 0,
    );
    expect(conditionsOf(refused)).toMatchObject([
      { type: 'PodResizePending', status: 'True', reason: 'Deferred', observedGeneration: 3 },
    ]);
    expect(conditionsOf(refused)[0]?.message).toMatch(
      /^Node didn't have enough resource: cpu, requested: 500000, used: \d+, capacity: \d+$/,
    );
    await expect
      .poll(() => eventsOf('exact').at(-1))
      .toMatch(/^ResizeDeferred Pod resize OutOfcpu: \{"containers"/);
    expect([kernel(refused), startedAt(refused)]).toEqual([kernel(grown), before]);
  });

  test('RestartContainer restarts the container once for its resource, and not for another', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const pod = await run('restarted', '100m/200m 32Mi/64Mi', { resizePolicy });
    resize('restarted', '100m/300m 32Mi/64Mi');
    expect(startedAt(await untilSized('restarted', '100m/300m 32Mi/64Mi'))).toEqual(startedAt(pod));
    resize('restarted', '100m/300m 32Mi/128Mi');
    const resized = await untilSized('restarted', '100m/300m 32Mi/128Mi');
    expect(startedAt(resized)).toEqual([expect.not.stringMatching(String(startedAt(pod)[0])), 1]);
    expect(kernel(resized)).toEqual({
      pod: ['30000', `${128 * mebi}`],
      container: ['30000', `${128 * mebi}`],
    });
  });

  test('a memory limit below the usage is reported as an error, and set when the memory is freed', async () => {
    const pod = await run('holds', '100m/200m 32Mi/96Mi');
    await exec(pod, 'dd if=/dev/zero of=/dev/shm/held bs=1M count=40');
    resize('holds', '100m/200m 16Mi/24Mi');
    const failed = await cluster.untilPod('holds', 'to report the cause', (_, each) =>
      conditionsOf(each).some(({ reason }) => reason === 'Error'),
    );
    expect(conditionsOf(failed)[0]?.message).toMatch(
      /^cannot decrease memory limits: .* below current usage \(\d+\)/,
    );
    expect(kernel(failed)).toEqual({ pod: ['20000', `${96 * mebi}`], container: ['20000', `${96 * mebi}`] });
    await exec(pod, 'rm /dev/shm/held');
    expect(kernel(await untilSized('holds', '100m/200m 16Mi/24Mi'))).toEqual({
      pod: ['20000', `${24 * mebi}`],
      container: ['20000', `${24 * mebi}`],
    });
  });

  test('a resize interrupted by a kill of the kubelet at any moment completes after the restart', async () => {
    const pod = await run('cut', '100m/200m 32Mi/64Mi');
    const before = startedAt(pod);
    const sizes = ['100m/300m 32Mi/128Mi', '100m/250m 32Mi/96Mi', '100m/400m 48Mi/160Mi'];
    for (const [round, size] of sizes.entries()) {
      resize('cut', size);
      await new Promise((resolve) => setTimeout(resolve, round * 15));
      await kubelet.kill9();
      await kubelet.start();
      const done = await untilSized('cut', size);
      expect(startedAt(done)).toEqual(before);
    }
    expect(kernel(cluster.pod('cut') ?? {})).toEqual({
      pod: ['40000', `${160 * mebi}`],
      container: ['40000', `${160 * mebi}`],
    });
  });

  /** As recorded from the Go kubelet v1.37: statuses, events, and the kernel's values. */
  test('pod-level resources are resized, with the limits that a container has from its pod', async () => {
    const podLevel = (text: string): Resources => amounts(text);
    const has = (text: string) => ({ requests: podLevel(text).requests, limits: podLevel(text).limits });
    cluster.createPod(
      manifest('whole', {
        resources: podLevel('100m/200m 64Mi/128Mi'),
        containers: [container('main', 'sleep 100000')],
      }),
    );
    const pod = await cluster.untilReady('whole');
    expect([pod.status?.allocatedResources, pod.status?.resources]).toEqual([
      { cpu: '100m', memory: '64Mi' },
      has('100m/200m 64Mi/128Mi'),
    ]);
    expect(kernel(pod)).toEqual({ pod: ['20000', `${128 * mebi}`], container: ['20000', `${128 * mebi}`] });
    const before = startedAt(pod);
    const sizes = ['150m/300m 64Mi/192Mi', '100m/250m 32Mi/64Mi'];
    for (const size of sizes) {
      cluster.double.objects.patch(
        'pods',
        'default',
        'whole',
        { spec: { resources: podLevel(size) } },
        'resize',
      );
      const done = await cluster.untilPod(
        'whole',
        `to have ${size}`,
        ({ resources }, each) =>
          JSON.stringify(sorted(resources)) === JSON.stringify(sorted(podLevel(size))) &&
          conditionsOf(each).length === 0,
      );
      const { limits, requests } = podLevel(size);
      expect([done.status?.allocatedResources, done.status?.containerStatuses?.[0]?.resources]).toEqual([
        requests,
        {},
      ]);
      const quota = `${Number.parseInt(limits?.['cpu'] ?? '', 10) * 100}`;
      const memory = `${Number.parseInt(limits?.['memory'] ?? '', 10) * mebi}`;
      expect(kernel(done)).toEqual({ pod: [quota, memory], container: [quota, memory] });
      expect(startedAt(done)).toEqual(before);
    }
    const summary = '{"containers":[{"name":"main","resources":{}}]';
    await expect
      .poll(() => eventsOf('whole').toSorted())
      .toEqual([
        `ResizeCompleted Pod resize completed: ${summary},"generation":2}`,
        `ResizeCompleted Pod resize completed: ${summary},"generation":3}`,
        `ResizeStarted Pod resize started: ${summary},"generation":2}`,
        `ResizeStarted Pod resize started: ${summary},"generation":3}`,
      ]);
  });

  test('a pod-level resize interrupted by kills of the kubelet completes, without a restart', async () => {
    cluster.createPod(
      manifest('cut-whole', {
        resources: amounts('100m/200m 32Mi/64Mi'),
        containers: [container('main', 'sleep 100000')],
      }),
    );
    const before = startedAt(await cluster.untilReady('cut-whole'));
    for (const [round, size] of ['100m/300m 32Mi/128Mi', '100m/250m 32Mi/96Mi'].entries()) {
      cluster.double.objects.patch(
        'pods',
        'default',
        'cut-whole',
        { spec: { resources: amounts(size) } },
        'resize',
      );
      await new Promise((resolve) => setTimeout(resolve, 10 + round * 15));
      await kubelet.kill9();
      await kubelet.start();
      const done = await cluster.untilPod(
        'cut-whole',
        `to have ${size}`,
        ({ resources }, each) =>
          JSON.stringify(sorted(resources)) === JSON.stringify(sorted(amounts(size))) &&
          conditionsOf(each).length === 0,
      );
      expect(startedAt(done)).toEqual(before);
    }
    expect(kernel(cluster.pod('cut-whole') ?? {})).toEqual({
      pod: ['25000', `${96 * mebi}`],
      container: ['25000', `${96 * mebi}`],
    });
  });

  test('a running init container is resized, and the pod then starts its containers', async () => {
    const init = {
      ...container('init', 'until [ -e /tmp/go ]; do sleep 0.2; done'),
      resources: amounts('50m/100m 16Mi/32Mi'),
    };
    cluster.createPod(
      manifest('early', {
        initContainers: [init],
        containers: [{ ...container('main', 'sleep 100000'), resources: amounts('50m/100m 16Mi/32Mi') }],
      }),
    );
    await cluster.untilPod(
      'early',
      'to run its init container',
      ({ initContainerStatuses = [] }) => initContainerStatuses[0]?.state?.running !== undefined,
    );
    const resized = (cluster.pod('early')?.spec?.initContainers ?? []).map((each) => ({
      ...each,
      resources: amounts('100m/200m 32Mi/64Mi'),
    }));
    cluster.double.objects.patch('pods', 'default', 'early', { spec: { initContainers: resized } }, 'resize');
    const grown = await cluster.untilPod(
      'early',
      'to resize its init container',
      ({ initContainerStatuses = [] }, each) =>
        JSON.stringify(sorted(initContainerStatuses[0]?.resources)) ===
          JSON.stringify(sorted(amounts('100m/200m 32Mi/64Mi'))) && conditionsOf(each).length === 0,
    );
    const { containerID = '', restartCount } = grown.status?.initContainerStatuses?.[0] ?? {};
    expect(restartCount).toBe(0);
    await rig.cri.execSync({
      containerId: containerID.split('://')[1] ?? '',
      cmd: ['touch', '/tmp/go'],
      timeout: 30n,
    });
    await cluster.untilReady('early');
  });
});
