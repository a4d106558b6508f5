// Device plugins and kubelets that fail at every moment: no device is given twice, none is lost, and no plugin delays the
// pods of others.
import { chownSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { DeviceList, parseDevices } from '../examples/device-plugin/device.ts';
import { register } from '../examples/device-plugin/register.ts';
import { SampleService } from '../examples/device-plugin/service.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, isReady, startCluster } from './support/cluster.ts';
import { DevicePlugin, sampleResource } from './support/device-plugin.ts';
import {
  deletePods,
  deviceContainer,
  devicePod,
  devicesOf,
  eventCount,
  untilNodeDevices,
} from './support/device-pods.ts';
import { manifest } from './support/manifest.ts';
import { listPodResources, untilAllocatable } from './support/pod-resources.ts';
import { containerStatus } from './support/pod-state.ts';
import { type StalledRig, startStalledRig } from './support/stalling-cri.ts';

const deviceCount = 8;
const all = String(deviceCount);

describeOnRig('device plugin faults', () => {
  let stalled: StalledRig;
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let plugin: DevicePlugin;
  const names = new Set<string>();

  beforeAll(async () => {
    stalled = await startStalledRig(async (started) => {
      cluster = await startCluster(started, 'node1');
      return {
        nodeName: 'node1',
        flags: [`--kubeconfig=${cluster.kubeconfig}`, '--device-plugin-wait=8s'],
        config: { nodeStatusUpdateFrequency: '1s' },
      };
    });
    ({ rig, kubelet } = stalled);
    await cluster.untilNodeReady();
    plugin = new DevicePlugin(kubelet, { devices: all, flags: ['--pre-start', '--preferred'] });
    await plugin.start();
  });
  beforeEach(async () => {
    onTestFailed(() => console.error(cluster.describeState(kubelet)));
    await untilDevices();
  });
  afterEach(async () => {
    plugin.order({});
    if (!kubelet.running) await kubelet.start();
    if (!plugin.running) await plugin.start();
    await deletePods(cluster, ...names);
    names.clear();
  });
  afterAll(async () => {
    await plugin.stop();
    await stalled.stop();
    await cluster.stop();
  });

  const untilDevices = (): Promise<void> => untilAllocatable(kubelet, { [sampleResource]: deviceCount });
  const create = (pod: Pod): string => {
    const name = pod.metadata?.name ?? '';
    cluster.createPod(pod);
    names.add(name);
    return name;
  };
  const run = (pod: Pod): Promise<Pod> => cluster.untilReady(create(pod));
  const untilRejected = async (name: string): Promise<string> => {
    const { status } = await cluster.untilPod(name, 'to be rejected', ({ phase }) => phase === 'Failed');
    expect(status?.reason).toBe('UnexpectedAdmissionError');
    return status?.message ?? '';
  };
  /** The devices of the pod's container, however often it was restarted. */
  const heldBy = (pod: Pod): Promise<readonly string[]> =>
    devicesOf(kubelet, pod, 'main', containerStatus(pod).restartCount);

  /** Every device can be given to one more pod, so that none is lost. */
  const expectAllFree = async (): Promise<void> => {
    await untilDevices();
    const pod = await run(devicePod('everything', deviceCount));
    expect((await heldBy(pod)).toSorted()).toEqual(parseDevices(all).map(({ id }) => id));
    await deletePods(cluster, 'everything');
  };

  test('a plugin that is killed leaves its capacity, and running pods keep their devices', async () => {
    const pod = await run(devicePod('held', 1));
    await untilNodeDevices(cluster, all, all);
    await plugin.stop('SIGKILL');
    await untilNodeDevices(cluster, all, '0');
    expect(containerStatus(await cluster.untilReady('held'))).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(pod).containerID ?? '',
    });
    await plugin.start();
    await untilNodeDevices(cluster, all, all);
  });

  test('a plugin that dies during Allocate loses no device', async () => {
    plugin.order({ onCall: { Allocate: 'exit' } });
    const name = create(devicePod('unlucky', 2));
    await plugin.untilExit();
    await untilRejected(name);
    plugin.order({});
    await plugin.start();
    await expectAllFree();
  });

  test('a plugin that dies between Allocate and the start of the container costs no second allocation', async () => {
    const before = plugin.allocated().length;
    const stall = stalled.cri.faults.stall('createContainer', {
      match: ({ sandboxConfig }) => sandboxConfig?.metadata?.name === 'between',
    });
    const name = create(devicePod('between', 1));
    await waitFor(() => stall.waiting > 0, 'the creation of the container');
    await plugin.stop('SIGKILL');
    stall.release();
    const pod = await cluster.untilReady(name);
    expect([await heldBy(pod)]).toEqual(plugin.allocated().slice(before));

    // The next pod's plugin dies when it prepares the device: the container starts when the plugin is back.
    await plugin.start();
    await untilDevices();
    plugin.order({ onCall: { PreStartContainer: 'exit' } });
    const second = create(devicePod('prepared', 1));
    await plugin.untilExit();
    plugin.order({});
    await plugin.start();
    expect(await heldBy(await cluster.untilReady(second))).toEqual(plugin.allocated().at(-1));
    expect(plugin.allocated()).toHaveLength(before + 2);
  });

  test('a plugin that hangs in Allocate delays its own pod alone, which can be deleted', async () => {
    plugin.order({ onCall: { Allocate: 'hang' } });
    const before = plugin.calls('Allocate').length;
    const hung = create(devicePod('hung', 1));
    await plugin.untilCalls('Allocate', before + 1);
    const startedMs = performance.now();
    await run(manifest('plain'));
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(cluster.pod(hung)?.status?.phase ?? 'Pending').toBe('Pending');
    expect((await kubelet.secure('/explain')).text).toContain(
      `the device plugin of ${sampleResource} is allocating devices`,
    );
    await deletePods(cluster, hung);
    plugin.order({});
    await expectAllFree();
  });

  test('an answer that cannot be used fails its pod alone, and its devices are free again', async () => {
    const garbage = [
      'no-containers',
      'relative-paths',
      'bad-permissions',
      'missing-node',
      'huge-env',
      'oversized-answer',
      'error',
    ] as const;
    const failed: string[] = [];
    for (const fault of garbage) {
      plugin.order({ onCall: { Allocate: fault } });
      failed.push(create(devicePod(fault, 1, { restartPolicy: 'Never' })));
      await cluster.untilPod(fault, 'to fail', ({ containerStatuses, phase }) => {
        const reason = containerStatuses?.[0]?.state?.waiting?.reason ?? '';
        return phase === 'Failed' || /Error$|BackOff$/.test(reason);
      });
    }
    plugin.order({});
    await deletePods(cluster, ...failed);
    await expectAllFree();
  });

  test('preferred devices that were never offered are ignored', async () => {
    plugin.order({ onCall: { GetPreferredAllocation: 'unknown-devices' } });
    const ids = await heldBy(await run(devicePod('offered', 2)));
    expect(parseDevices(all).map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]));
    expect(new Set(ids).size).toBe(2);
  });

  test('odd lists of devices, and too long ones, do no harm', async () => {
    for (const fault of ['odd-devices', 'too-many-devices', 'hang', 'error'] as const) {
      const before = plugin.calls('ListAndWatch').length;
      await plugin.stop('SIGKILL');
      plugin.order({ onCall: { ListAndWatch: fault } });
      await plugin.start();
      await plugin.untilCalls('ListAndWatch', before + 1);
      expect(await kubelet.healthz()).toMatchObject({ status: 200 });
    }
    await plugin.stop('SIGKILL');
    plugin.order({});
    await plugin.start();
    await untilNodeDevices(cluster, all, all);
    await expectAllFree();
  });

  test('a flood of updates delays no pod, and the last update counts', async () => {
    const rssBefore = kubelet.usage().rssBytes;
    plugin.order({ flood: 10_000, unhealthy: ['0'] });
    await run(manifest('dry'));
    await untilNodeDevices(cluster, all, String(deviceCount - 1));
    expect(kubelet.usage().rssBytes - rssBefore).toBeLessThan(150_000_000);
    plugin.order({});
    await untilNodeDevices(cluster, all, all);
  });

  test('a kubelet killed at any moment between allocation and start gives no device twice and loses none', async () => {
    const killed = async (): Promise<void> => {
      await kubelet.kill9();
      plugin.order({});
      await kubelet.start();
    };
    const moments: Readonly<Record<string, (name: string) => Promise<void>>> = {};
    const at = (moment: string, reach: (name: string) => Promise<void>): void => {
      Object.assign(moments, { [moment]: reach });
    };
    at('in-allocate', async () => {
      plugin.order({ onCall: { Allocate: 'hang' } });
      await plugin.untilCalls('Allocate', plugin.calls('Allocate').length + 1);
      await killed();
    });
    for (const method of ['runPodSandbox', 'createContainer', 'startContainer'] as const)
      at(method.toLowerCase(), async () => {
        const stall = stalled.cri.faults.stall(method);
        await waitFor(() => stall.waiting > 0, `${method} to be called`);
        await killed();
        stall.release();
      });
    for (const delayMs of [0, 40, 120])
      at(`after-${delayMs}`, async () => {
        await plugin.untilCalls('Allocate', plugin.calls('Allocate').length + 1);
        await sleep(delayMs);
        await killed();
      });
    const held = new Map<string, readonly string[]>();
    for (const [name, reach] of Object.entries(moments)) {
      const reached = reach(name);
      create(devicePod(name, 1));
      await reached;
      await untilDevices();
      held.set(`${name}/main`, await heldBy(await cluster.untilReady(name)));
    }
    const ids = [...held.values()].flat();
    expect(new Set(ids).size).toBe(Object.keys(moments).length);
    const expected = [...held].map(([name, [id]]) => [name, `${sampleResource}=${id}`]);
    expect(await listPodResources(kubelet)).toEqual(Object.fromEntries(expected));
    await deletePods(cluster, ...Object.keys(moments));
    await expectAllFree();
  });

  /** Stops the kubelet and the plugin and removes all containers. */
  const reboot = async (): Promise<void> => {
    await kubelet.stop();
    await plugin.stop();
    await rig.removeAllPods();
    await kubelet.start();
  };

  test('a pod waits for its plugin after a reboot, reports it, and keeps its devices', async () => {
    const before = await heldBy(await run(devicePod('patient', 2)));
    await reboot();
    await cluster.untilPod('patient', 'to wait for its plugin', (status) =>
      JSON.stringify(status).includes('WaitingForDevicePlugin'),
    );
    const response = await kubelet.get(kubelet.readOnlyPort, '/explain');
    const { pods } = (await response.json()) as {
      readonly pods: readonly { readonly name: string; readonly explanation: string }[];
    };
    expect(pods.find(({ name }) => name === 'patient')?.explanation).toContain(sampleResource);
    await plugin.start();
    const restarted = await cluster.untilPod(
      'patient',
      'to run again',
      (status) => isReady(status) && !JSON.stringify(status).includes('WaitingForDevicePlugin'),
    );
    expect(await heldBy(restarted)).toEqual(before);
  });

  test('a pod whose plugin does not return in time is rejected, and its devices are free', async () => {
    await run(devicePod('impatient', 1));
    await reboot();
    await untilRejected('impatient');
    await plugin.start();
    await expectAllFree();
  });

  test('a registration that hangs in GetInfo is retried', async () => {
    const slow = new DevicePlugin(kubelet, { resource: 'example.com/slow', devices: '1', registry: true });
    slow.order({ onCall: { GetInfo: 'hang' } });
    await slow.start();
    try {
      await slow.untilCalls('GetInfo', 2);
      slow.order({});
      await untilNodeDevices(cluster, '1', '1', slow.resource);
    } finally {
      await slow.stop();
    }
  });

  test('CDI names of the plugin reach the runtime', async () => {
    const cdi = new DevicePlugin(kubelet, { resource: 'example.com/cdi', devices: 'a', flags: ['--cdi'] });
    await cdi.start();
    try {
      await untilAllocatable(kubelet, { [cdi.resource]: 1 });
      await run(manifest('named', { containers: [deviceContainer('main', 1, { resource: cdi.resource })] }));
      const requests = stalled.cri.calls
        .filter(({ method }) => method === 'createContainer')
        .map(({ request }) => inspect(request, { depth: null }));
      expect(requests.filter((text) => text.includes("'example.com/cdi=a'"))).toHaveLength(1);
    } finally {
      await cdi.stop();
    }
  });

  test('sockets that are symbolic links or belong to another user are refused', async () => {
    const calls: string[] = [];
    const resource = 'example.com/foreign';
    const bound = join(kubelet.rootDir, 'foreign.sock');
    const [plugins, registry] = ['device-plugins', 'plugins_registry'].map((dir) =>
      join(kubelet.rootDir, dir),
    );
    const service = new SampleService({
      devices: new DeviceList(parseDevices('1')),
      options: { resource, preStart: false, preferred: false, cdi: false },
      respond: async (call, _request, answer) => {
        calls.push(call);
        return answer();
      },
    });
    const info = { type: 'DevicePlugin', name: resource, endpoint: '', supportedVersions: ['v1beta1'] };
    for (const dir of [plugins ?? '', registry ?? '']) {
      const link = join(dir, 'linked.sock');
      const foreign = join(dir, 'of-another-user.sock');
      const from = kubelet.log.end;
      await service.start(bound, info);
      symlinkSync(bound, link);
      if (dir === registry) await kubelet.log.waitForLine(/linked\.sock/, { from });
      else await expect(register(dir, 'linked.sock', resource)).rejects.toThrow();
      rmSync(link);
      // It appears under its name with its owner, so that the kubelet never sees it as root's.
      chownSync(bound, 65_534, 65_534);
      renameSync(bound, foreign);
      if (dir === registry) await kubelet.log.waitForLine(/of-another-user\.sock/, { from });
      else await expect(register(dir, 'of-another-user.sock', resource)).rejects.toThrow();
      rmSync(foreign);
      service.stop();
    }
    expect(calls).toEqual([]);
  });

  test('a kubelet starts with a damaged checkpoint, knows the devices in use, and reports it', async () => {
    const pod = await run(devicePod('checkpointed', 2));
    const held = await heldBy(pod);
    const before = await listPodResources(kubelet);
    const file = join(kubelet.rootDir, 'device-plugins', 'kubelet_internal_checkpoint');
    const foreign = JSON.stringify({ Data: { Version: 'v9', Entries: [] }, Checksum: 1 });
    const damages: readonly ((text: string) => string)[] = [
      (text) => text.slice(0, text.length / 2),
      () => '',
      () => foreign,
    ];
    for (const damage of damages) {
      // Two writes after the allocation, so that the predecessor of the file has it as well.
      const [unused = ''] = parseDevices(all)
        .map(({ id }) => id)
        .filter((id) => !held.includes(id));
      plugin.order({ unhealthy: [unused] });
      await untilAllocatable(kubelet, { [sampleResource]: deviceCount - 1 });
      plugin.order({});
      await untilDevices();
      const events = eventCount(cluster, 'node1', 'ManagerStateRecovered');
      await kubelet.stop();
      writeFileSync(file, damage(readFileSync(file, 'utf8')));
      await kubelet.start();
      await waitFor(
        () => eventCount(cluster, 'node1', 'ManagerStateRecovered') === events + 1,
        'the event ManagerStateRecovered',
      );
      await untilDevices();
      expect(await listPodResources(kubelet)).toEqual(before);
    }
    expect(containerStatus(await cluster.untilReady('checkpointed'))).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(pod).containerID ?? '',
    });
    const others = await heldBy(await run(devicePod('others', deviceCount - 2)));
    expect(new Set([...others, ...held]).size).toBe(deviceCount);
  });
});
