// Device plugins with the sample plugin as a process of its own and real containers: registration, what a container sees,
// reuse, health, restarts of the kubelet.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { register } from '../examples/device-plugin/register.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { DevicePlugin, sampleResource } from './support/device-plugin.ts';
import {
  deletePods,
  deviceContainer,
  devicePod,
  devicesOf,
  showDevices,
  untilNodeDevices,
  untilShown,
} from './support/device-pods.ts';
import { manifest } from './support/manifest.ts';
import { allocatableResources, listPodResources, untilAllocatable } from './support/pod-resources.ts';
import { containerIdOf, containerStatus } from './support/pod-state.ts';
import { killTask } from './support/runtime-pods.ts';
import { useClusterNode } from './support/suite-node.ts';

const listedResource = 'example.com/listed';

describeOnRig('device plugins', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let plugin: DevicePlugin;
  let listed: DevicePlugin;
  const names = new Set<string>();

  useClusterNode(
    (node) => ({ rig, cluster, kubelet } = node),
    (joined) => ({
      flags: [`--kubeconfig=${joined.kubeconfig}`],
      config: { nodeStatusUpdateFrequency: '1s' },
    }),
  );
  beforeAll(async () => {
    const mounted = join(rig.workspace.dir, 'sample-files');
    mkdirSync(mounted);
    writeFileSync(join(mounted, 'hello'), 'hello from the host\n');
    plugin = new DevicePlugin(kubelet, { flags: [`--mount=${mounted}`, '--pre-start'] });
    listed = new DevicePlugin(kubelet, {
      resource: listedResource,
      devices: 'a,b,c',
      registry: true,
      flags: ['--preferred'],
    });
    await plugin.start();
    await listed.start();
    await untilNodeDevices(cluster, '4', '4');
    await untilNodeDevices(cluster, '3', '3', listedResource);
  });
  afterEach(async () => {
    plugin.order({});
    await deletePods(cluster, ...names);
    names.clear();
  });
  afterAll(async () => {
    await plugin.stop();
    await listed.stop();
  });

  const create = (pod: Pod): void => {
    cluster.createPod(pod);
    names.add(pod.metadata?.name ?? '');
  };
  const run = (pod: Pod): Promise<Pod> => {
    create(pod);
    return cluster.untilReady(pod.metadata?.name ?? '');
  };
  const healthOf = (pod: Pod): Readonly<Record<string, string | undefined>> => {
    const found = containerStatus(pod).allocatedResourcesStatus ?? [];
    const devices = found.find(({ name }) => name === sampleResource)?.resources ?? [];
    return Object.fromEntries(devices.map(({ resourceID, health }) => [resourceID, health]));
  };
  const metric = async (line: string): Promise<string | undefined> => {
    const { text } = await kubelet.secure('/metrics');
    return text.split('\n').find((each) => each.startsWith(`${line} `));
  };

  test('plugins on kubelet.sock and in plugins_registry are registered, each once', async () => {
    expect(plugin.calls('GetDevicePluginOptions')).toHaveLength(1);
    expect(plugin.calls('ListAndWatch')).toHaveLength(1);
    expect(listed.calls().map(({ call }) => call)).toEqual(
      expect.arrayContaining([
        'GetInfo',
        'GetDevicePluginOptions',
        'NotifyRegistrationStatus',
        'ListAndWatch',
      ]),
    );
    const [status] = listed.calls('NotifyRegistrationStatus');
    expect(status?.request).toMatchObject({ pluginRegistered: true, error: '' });
    const { devices } = await allocatableResources(kubelet);
    expect(devices).toEqual({ [sampleResource]: 4, [listedResource]: 3 });
    for (const resource of [sampleResource, listedResource])
      expect(await metric(`kubelet_device_plugin_registration_total{resource_name="${resource}"}`)).toMatch(
        / 1$/,
      );
  });

  test('a registration that cannot be used is refused with the reason', async () => {
    const dir = join(kubelet.rootDir, 'device-plugins');
    expect((statSync(dir).mode & 0o777).toString(8)).toBe('750');
    await expect(register(dir, 'none.sock', 'cpu')).rejects.toThrow('the ResourceName "cpu" is invalid');
    await expect(register(dir, '../escape.sock', 'example.com/none')).rejects.toThrow();
  });

  test('a container sees its devices, environment, mount and annotation', async () => {
    const pod = await run(devicePod('two', 2));
    const ids = await devicesOf(kubelet, pod);
    expect(ids).toHaveLength(2);
    expect(await untilShown(kubelet, pod)).toEqual([
      ...ids.map((id) => `opened /dev/sample-${id}`).toSorted(),
      `SAMPLE_DEVICES=${ids.join(',')}`,
      'hello from the host',
      'mounted read-only',
    ]);
    const { status } = await rig.cri.containerStatus({ containerId: containerIdOf(pod) });
    expect(status?.annotations['sample-device-plugin/devices']).toBe(ids.join(','));
    expect(await listPodResources(kubelet)).toEqual({
      'two/main': `${sampleResource}=${ids.toSorted().join(',')}`,
    });
    expect(Object.keys(healthOf(pod)).toSorted()).toEqual(ids.toSorted());
    expect(plugin.calls('PreStartContainer').at(-1)?.request).toEqual({ devicesIds: ids });
  });

  test('the devices of an init container are reused, those of a sidecar are its own', async () => {
    const pod = await run(
      manifest('reuse', {
        initContainers: [
          deviceContainer('prepare', 1, { script: showDevices }),
          deviceContainer('side', 1, { restartPolicy: 'Always' }),
        ],
        containers: [deviceContainer('main', 2)],
      }),
    );
    const [prepare, side, main] = await Promise.all(
      ['prepare', 'side', 'main'].map((name) => devicesOf(kubelet, pod, name)),
    );
    expect([prepare?.length, side?.length, main?.length]).toEqual([1, 1, 2]);
    const kept = [...(side ?? []), ...(main ?? [])];
    expect(new Set(kept).size).toBe(3);
    expect(kept).toEqual(expect.arrayContaining([...(prepare ?? [])]));
    // The fourth device is free.
    const other = await run(devicePod('other', 1));
    expect(kept).not.toContain((await devicesOf(kubelet, other))[0]);
    expect(Object.keys(await listPodResources(kubelet))).toEqual(['other/main', 'reuse/main', 'reuse/side']);
  });

  test('the plugin’s preference decides among free devices', async () => {
    const pod = await run(
      manifest('preferred', { containers: [deviceContainer('main', 1, { resource: listedResource })] }),
    );
    expect(await devicesOf(kubelet, pod)).toEqual(['c']);
    expect(listed.calls('GetPreferredAllocation').at(-1)?.request).toEqual({
      containerRequests: [
        { availableDeviceIDs: ['a', 'b', 'c'], mustIncludeDeviceIDs: [], allocationSize: 1 },
      ],
    });
  });

  test('a device that fails under a running pod is reported, and the pod keeps running', async () => {
    const pod = await run(devicePod('ill', 2));
    const [id = '', other = ''] = await devicesOf(kubelet, pod);
    plugin.order({ unhealthy: [id] });
    await untilNodeDevices(cluster, '4', '3');
    const ill = await cluster.untilPod('ill', 'to report the failed device', (_, each) => {
      return healthOf(each)[id] === 'Unhealthy' && healthOf(each)[other] === 'Healthy';
    });
    expect(containerStatus(ill)).toMatchObject({
      ready: true,
      restartCount: 0,
      containerID: containerStatus(pod).containerID ?? '',
    });
    plugin.order({});
    await cluster.untilPod(
      'ill',
      'to report the recovered device',
      (_, each) => healthOf(each)[id] === 'Healthy',
    );
    await untilNodeDevices(cluster, '4', '4');
  });

  test('a pod that finds too few devices is rejected, and deletion frees them', async () => {
    await run(devicePod('all', 4));
    create(devicePod('late', 1));
    const { status } = await cluster.untilPod('late', 'to be rejected', ({ phase }) => phase === 'Failed');
    expect(status?.reason).toBe('UnexpectedAdmissionError');
    expect(status?.message).toContain(
      `requested number of devices unavailable for ${sampleResource}. Requested: 1, Available: 0`,
    );
    await deletePods(cluster, 'all', 'late');
    expect(await listPodResources(kubelet)).toEqual({});
    const next = await run(devicePod('next', 4));
    expect((await devicesOf(kubelet, next)).toSorted()).toEqual(['0', '1', '2', '3']);
  });

  test('a restarted kubelet keeps devices and containers, and allocates no device twice', async () => {
    const pod = await run(devicePod('kept', 2));
    const before = await listPodResources(kubelet);
    const allocations = plugin.allocated().length;
    const registrations = plugin.calls('ListAndWatch').length;
    const starts = plugin.calls('PreStartContainer').length;
    await kubelet.stop();
    await kubelet.start();
    await kubelet.kill9();
    await kubelet.start();
    await plugin.untilCalls('ListAndWatch', registrations + 1);
    await untilAllocatable(kubelet, { [sampleResource]: 4, [listedResource]: 3 });
    const after = await cluster.untilReady('kept');
    expect(await listPodResources(kubelet)).toEqual(before);
    expect(containerStatus(after)).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(pod).containerID ?? '',
    });
    expect(plugin.allocated()).toHaveLength(allocations);
    expect(plugin.calls('PreStartContainer')).toHaveLength(starts);

    // A restarted container has the same devices: prepared again, not allocated again.
    await killTask(rig, containerIdOf(pod));
    const restarted = await cluster.untilPod('kept', 'to restart', ({ containerStatuses }) =>
      Boolean(containerStatuses?.some(({ ready, restartCount }) => ready && restartCount === 1)),
    );
    expect(await devicesOf(kubelet, restarted, 'main', 1)).toEqual(await devicesOf(kubelet, pod));
    expect(plugin.allocated()).toHaveLength(allocations);
    await waitFor(() => plugin.calls('PreStartContainer').length === starts + 1, 'PreStartContainer');
  });
});
