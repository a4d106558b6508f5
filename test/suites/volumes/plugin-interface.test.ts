// The whole interface of volume plugins, by a plugin that uses all of it like a vendor's driver: attached by
// controllers, staged once per node, published to each pod, as a directory or as a block device. Also local block
// devices.
import { setMaxListeners } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Node, PersistentVolumeSpec, Pod } from '../../../src/api/k8s/types.ts';
import { asPodUid, podUid } from '../../../src/api/pod/pod-ref.ts';
import type { EventText } from '../../../src/api/ports/events.ts';
import type { Volumes, VolumesInput } from '../../../src/assemble/volumes.ts';
import { Channel } from '../../../src/base/channel.ts';
import { startComponent } from '../../../src/base/component.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { NodeAttachments } from '../../../src/volumes/attach/node-attachments.ts';
import { pluginDefaults, type VolumePlugin } from '../../../src/volumes/plugin.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakePodObjects } from '../../fakes/fake-pod-objects.ts';
import { FakeVolumeHost } from '../../fakes/fake-volume-host.ts';
import { testVolumes } from '../../simulate/test-volumes.ts';

const staged = '/root/plugins/example/staged';
const signal = new AbortController().signal;
setMaxListeners(0, signal);
let clock: FakeClock;
let host: FakeVolumeHost;
let objects: FakePodObjects;
let events: EventText[];
let volumes: Volumes;
let driverCalls: string[];
/** The next staging of the driver waits for this. */
let driver: () => Promise<void>;

/** Keeps its state on disk only: a directory per staged handle, and the directories and links of pods. */
function drivenPlugin(): VolumePlugin {
  const handleOf = (name: string): string => `handle-of-${name}`;
  const stage = async (name: string): Promise<string> => {
    const path = `${staged}/${handleOf(name)}`;
    if (host.entries.has(path)) return path;
    await driver();
    driverCalls.push(`stage ${handleOf(name)}`);
    await host.makeDirectory(path);
    return path;
  };
  return {
    ...pluginDefaults,
    name: 'example.com/driven',
    canServe: ({ persistent }) => persistent?.spec?.flexVolume?.driver === 'driven',
    deviceKey: ({ directoryName }) => handleOf(directoryName),
    attachName: ({ directoryName }) => `example.com/driven^${handleOf(directoryName)}`,
    setUp: async ({ onWait, path, spec }) => {
      onWait?.();
      const from = await stage(spec.directoryName);
      if (host.mounts.some((mount) => mount.path === path))
        return { location: { kind: 'path', path }, readOnly: spec.readOnly, managed: true };
      await host.makeDirectory(path);
      await host.bind(from, path, { readOnly: spec.readOnly });
      driverCalls.push(`publish ${spec.directoryName}`);
      return { location: { kind: 'path', path }, readOnly: spec.readOnly, managed: true };
    },
    tearDown: async ({ path, directoryName }) => {
      await host.unmount(path);
      await host.removeEmpty(path);
      driverCalls.push(`unpublish ${directoryName}`);
    },
    block: {
      setUp: async ({ spec }) => {
        await stage(spec.directoryName);
        return `/dev/${spec.directoryName}`;
      },
      tearDown: async ({ directoryName }) => void driverCalls.push(`unpublish device ${directoryName}`),
    },
    nodeDevices: {
      keyOf: async ({ directoryName }) => handleOf(directoryName),
      list: async () => await host.listDirectories(staged),
      release: async (key) => {
        driverCalls.push(`unstage ${key}`);
        host.entries.delete(`${staged}/${key}`);
      },
    },
  };
}

async function begin(
  plugins?: readonly VolumePlugin[],
  over: Partial<Pick<VolumesInput, 'attachments' | 'reject'>> = {},
): Promise<Volumes> {
  const begun = testVolumes({
    ...over,
    ...(plugins === undefined ? {} : { plugins }),
    host: () => host,
    objects,
    events: {
      pod: (_, event) => void events.push(event),
      node: () => undefined,
      object: () => undefined,
    },
    clock,
  });
  for (const component of begun.components) await startComponent(component, signal);
  return begun;
}

beforeEach(() => {
  clock = new FakeClock();
  host = new FakeVolumeHost('/root/pods');
  objects = new FakePodObjects();
  events = [];
  driverCalls = [];
  driver = () => Promise.resolve();
});

function bound(spec: PersistentVolumeSpec, name = 'pv'): void {
  objects.claims.set(`claim-${name}`, {
    metadata: { uid: `uid-${name}` },
    spec: { volumeName: name },
    status: { phase: 'Bound' },
  });
  objects.volumes.set(name, { metadata: { name }, spec: { claimRef: { uid: `uid-${name}` }, ...spec } });
}

function podUsing(uid: string, how: 'mount' | 'device', name = 'pv', readOnly = false): Pod {
  const use =
    how === 'mount'
      ? { volumeMounts: [{ name: 'v', mountPath: '/v' }] }
      : { volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] };
  const persistentVolumeClaim = { claimName: `claim-${name}`, ...(readOnly ? { readOnly } : {}) };
  return aPod({
    uid,
    volumes: [{ name: 'v', persistentVolumeClaim }],
    containers: [aContainer({ ...use })],
  });
}

const mounted = async (pod: Pod): Promise<string> =>
  await clock.until(
    volumes.manager.mount(pod, signal).then(
      () => 'mounted',
      (err: KubeletError) => err.message,
    ),
  );
const ended = async (pod: Pod): Promise<void> =>
  await clock.until(volumes.manager.unmount(podUid(pod), signal));
const given = async (pod: Pod): Promise<readonly object[]> => {
  const [container = aContainer()] = pod.spec?.containers ?? [];
  const options = { expand: (text: string) => text };
  return (await volumes.manager.containerMounts(pod, container, options, signal)).devices;
};

describe('a plugin with all capabilities', () => {
  const driven = { flexVolume: { driver: 'driven' } };
  beforeEach(async () => {
    volumes = await begin([drivenPlugin()]);
  });

  test('is staged once, published to each pod, and unstaged after the last', async () => {
    bound(driven);
    const [one, two] = [podUsing('one', 'mount'), podUsing('two', 'mount')];
    expect([await mounted(one), await mounted(two)]).toEqual(['mounted', 'mounted']);
    await ended(one);
    expect(driverCalls).toEqual(['stage handle-of-pv', 'publish pv', 'publish pv', 'unpublish pv']);
    await ended(two);
    expect(driverCalls.slice(4)).toEqual(['unpublish pv', 'unstage handle-of-pv']);
    expect(host.mounts).toEqual([]);
  });

  test('pods that wait for their driver delay no other pod', async () => {
    let calls = 0;
    driver = async () => {
      calls += 1;
      await new Promise<never>(() => undefined);
    };
    const many = Array.from({ length: 20 }, (_, at) => `slow-${at}`);
    for (const name of many) {
      bound(driven, name);
      void volumes.manager.mount(podUsing(`pod-${name}`, 'mount', name), signal).catch(() => undefined);
    }
    await clock.advance(0);
    expect(calls).toBe(20);
  });

  test('a volume that cannot be unpublished does not keep the other ones of its pod staged', async () => {
    bound(driven, 'a');
    bound(driven, 'b');
    const claims = ['a', 'b'];
    const pod = aPod({
      uid: 'one',
      volumes: claims.map((name) => ({ name, persistentVolumeClaim: { claimName: `claim-${name}` } })),
      containers: [aContainer({ volumeMounts: claims.map((name) => ({ name, mountPath: `/${name}` })) })],
    });
    expect(await mounted(pod)).toBe('mounted');
    let fails = 1;
    host.injectFault('removeEmpty', () =>
      fails-- > 0
        ? Promise.reject(new KubeletError('internal', 'Broken', 'it is broken'))
        : Promise.resolve(),
    );
    await expect(ended(pod)).rejects.toThrow('it is broken');
    expect(driverCalls.filter((call) => call.startsWith('unstage'))).toHaveLength(1);
    await ended(pod);
    expect(driverCalls.filter((call) => call.startsWith('unstage')).toSorted()).toEqual([
      'unstage handle-of-a',
      'unstage handle-of-b',
    ]);
    expect(volumes.manager.inUse.names()).toEqual([]);
  });

  test('links a block device at upstream’s paths, passes the link to the container, and removes it', async () => {
    bound({ ...driven, volumeMode: 'Block' });
    const pod = podUsing('one', 'device');
    expect(await mounted(pod)).toBe('mounted');
    const link = '/root/pods/one/volumeDevices/example.com~driven/pv';
    expect([...host.links]).toEqual([[link, '/dev/pv']]);
    expect(host.mounts).toMatchObject([
      { path: '/root/plugins/example.com~driven/volumeDevices/pv/one', options: '/dev/pv' },
    ]);
    expect(await given(pod)).toEqual([{ hostPath: link, containerPath: '/dev/xvda', permissions: 'mrw' }]);
    expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      'SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv" globalMapPath "/root/plugins/example.com~driven/volumeDevices/pv"',
      'SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "/root/pods/one/volumeDevices/example.com~driven"',
    ]);
    await ended(pod);
    expect(driverCalls).toEqual(['stage handle-of-pv', 'unpublish device pv', 'unstage handle-of-pv']);
    expect([host.links.size, host.mounts.length]).toEqual([0, 0]);
    expect([...host.entries.keys()].filter((path) => path.startsWith('/root/pods/one/'))).toEqual([]);
  });

  test('counts volumes of claims by the name that their plugin has in metrics', async () => {
    volumes = await begin([{ ...drivenPlugin(), label: () => 'example.com/driven:vendor' }]);
    bound(driven);
    const called = new Promise<void>((resolve) => {
      driver = () => {
        resolve();
        return new Promise(() => undefined);
      };
    });
    void mounted(podUsing('one', 'mount'));
    await clock.until(called);
    const name = 'example.com/driven:vendor';
    expect(volumes.manager.counts()).toEqual({ desired: [name], mounted: [] });
  });

  test('a read-only device is read-only in the container', async () => {
    bound({ ...driven, volumeMode: 'Block' });
    const pod = podUsing('one', 'device', 'pv', true);
    await mounted(pod);
    expect(await given(pod)).toMatchObject([{ permissions: 'r' }]);
  });

  test('rejects a device in volumeMounts and a directory in volumeDevices', async () => {
    bound({ ...driven, volumeMode: 'Block' });
    expect(await mounted(podUsing('one', 'mount'))).toContain(
      'volume v has volumeMode Block, but is specified in volumeMounts',
    );
    bound(driven);
    expect(await mounted(podUsing('two', 'device'))).toContain(
      'volume v has volumeMode Filesystem, but is specified in volumeDevices',
    );
  });

  test('attached volumes are in volumesInUse from the first use until they are unmounted', async () => {
    bound(driven);
    bound(driven, 'other');
    driver = () => Promise.reject(new KubeletError('unavailable', 'NotAttached', 'not attached yet'));
    const [one, two] = [podUsing('one', 'mount'), podUsing('two', 'mount', 'other')];
    expect(await mounted(one)).toContain('not attached yet');
    expect(volumes.manager.inUse.names()).toEqual(['example.com/driven^handle-of-pv']);
    driver = () => Promise.resolve();
    await clock.advance(500);
    await mounted(one);
    await mounted(two);
    expect(volumes.manager.inUse.names()).toEqual([
      'example.com/driven^handle-of-other',
      'example.com/driven^handle-of-pv',
    ]);
    await ended(one);
    await ended(two);
    expect(volumes.manager.inUse.names()).toEqual([]);
  });

  test('a hung staging delays only its pods, which can still end', async () => {
    bound(driven);
    bound(driven, 'other');
    driver = () => new Promise(() => undefined);
    const hanging = podUsing('one', 'mount');
    void volumes.manager.mount(hanging, signal).catch(() => undefined);
    await clock.advance(10);
    driver = () => Promise.resolve();
    expect(await mounted(podUsing('two', 'mount', 'other'))).toBe('mounted');
    await ended(hanging);
    expect(driverCalls).not.toContain('publish pv');
  });

  test('a volume staged by an earlier kubelet is not staged again, and is unstaged after its last pod', async () => {
    bound(driven);
    const [one, two] = [podUsing('one', 'mount'), podUsing('two', 'mount')];
    await mounted(one);
    await mounted(two);
    volumes = await begin([drivenPlugin()]);
    await mounted(one);
    await ended(one);
    // The next kubelet does not know the other pod yet, but its directory exists.
    expect(driverCalls).not.toContain('unstage handle-of-pv');
    await ended(two);
    expect(driverCalls.filter((each) => each.includes('stage'))).toEqual([
      'stage handle-of-pv',
      'unstage handle-of-pv',
    ]);
  });

  test('a volume left staged by a killed kubelet is unstaged by the next one', async () => {
    bound(driven, 'used');
    await mounted(podUsing('one', 'mount', 'used'));
    await host.makeDirectory(`${staged}/handle-of-pv`);
    volumes = await begin([drivenPlugin()]);
    await clock.advance(1_000);
    expect(driverCalls).toEqual(['stage handle-of-used', 'publish used', 'unstage handle-of-pv']);
  });

  test('ReadWriteOncePod makes another pod wait until the first one has ended', async () => {
    bound({ ...driven, accessModes: ['ReadWriteOncePod'] });
    const [one, two] = [podUsing('one', 'mount'), podUsing('two', 'mount')];
    await mounted(one);
    expect(await mounted(two)).toContain(
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
    await ended(one);
    await clock.advance(500);
    expect(await mounted(two)).toBe('mounted');
  });

  test('a volume with the node affinity of another node fails with upstream’s message', async () => {
    const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['here'] }];
    bound({ ...driven, nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } });
    const labelled = (hostname: string) => () =>
      Promise.resolve({ metadata: { labels: { 'kubernetes.io/hostname': hostname } } });
    objects.node = labelled('there');
    expect(await mounted(podUsing('one', 'mount'))).toContain(
      'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
    );
    objects.node = labelled('here');
    await clock.advance(500);
    expect(await mounted(podUsing('one', 'mount'))).toBe('mounted');
  });
});

describe('local block devices', () => {
  const target = '/root/plugins/kubernetes.io/local-volume/mounts/pv';
  beforeEach(async () => {
    volumes = await begin();
    host.entries.set('/dev/vdb', 'block-device');
    host.entries.set('/etc/file', 'file');
  });

  test('are passed to the container', async () => {
    bound({ local: { path: '/dev/vdb' }, volumeMode: 'Block' });
    const pod = podUsing('one', 'device');
    expect(await mounted(pod)).toBe('mounted');
    expect([...host.links]).toEqual([
      ['/root/pods/one/volumeDevices/kubernetes.io~local-volume/pv', '/dev/vdb'],
    ]);
    await ended(pod);
    expect([host.links.size, host.mounts.length]).toEqual([0, 0]);
  });

  test('have their file system mounted once, bound to each pod, and unmounted after the last', async () => {
    bound({ local: { path: '/dev/vdb', fsType: 'xfs' } });
    const [one, two] = [podUsing('one', 'mount'), podUsing('two', 'mount')];
    await mounted(one);
    await mounted(two);
    expect(host.mounts.map(({ fsType, path }) => [path, fsType])).toEqual([
      [target, 'xfs'],
      ['/root/pods/one/volumes/kubernetes.io~local-volume/pv', 'ext4'],
      ['/root/pods/two/volumes/kubernetes.io~local-volume/pv', 'ext4'],
    ]);
    await ended(one);
    expect(host.mounts.map(({ path }) => path)).toContain(target);
    await ended(two);
    expect(host.mounts).toEqual([]);
  });

  test('are rejected with upstream’s message if they are neither a directory nor a device', async () => {
    bound({ local: { path: '/etc/file' } });
    expect(await mounted(podUsing('one', 'mount'))).toContain(
      'only directory and block device are supported',
    );
    bound({ local: { path: '/etc/file' }, volumeMode: 'Block' });
    expect(await mounted(podUsing('two', 'device'))).toContain(
      'MapVolume.SetUpDevice failed for volume "pv" : /etc/file is not a block device',
    );
    expect(events.map(({ reason }) => reason)).toEqual(['FailedMount', 'FailedMapVolume']);
  });

  test('are rejected for a plugin without block support', async () => {
    bound({ nfs: { server: 's', path: '/e' }, volumeMode: 'Block' });
    expect(await mounted(podUsing('one', 'device'))).toContain(
      'kubernetes.io/nfs does not support block devices',
    );
  });
});

describe('volumes that have to wait', () => {
  const driven = { flexVolume: { driver: 'driven' } };
  const name = 'example.com/driven^handle-of-pv';
  const nodeChanged = new Channel<void>();
  const driverChanged = new Channel<string>();
  const wanted = (): readonly string[] | undefined =>
    volumes.manager.inUse.report({ sourcesReady: () => true });
  let node: Node;
  let attachments: NodeAttachments;
  let isRegistered: boolean;
  let rejected: string[];

  beforeEach(async () => {
    node = {};
    isRegistered = true;
    rejected = [];
    attachments = new NodeAttachments({
      ownNode: { get: () => node, changed: nodeChanged },
      byController: true,
    });
    const plugin = {
      ...drivenPlugin(),
      prerequisite: {
        missing: () => (isRegistered ? undefined : 'the driver to register'),
        changed: driverChanged,
      },
      attachment: { failure: async () => ({ message: 'the node is full', isLimit: true }) },
    };
    volumes = await begin([plugin], { attachments, reject: (_, { message }) => void rejected.push(message) });
    bound(driven);
  });

  /** Without advancing the clock. */
  const outcomeOf = (pod: Pod): Promise<string> =>
    volumes.manager.mount(pod, signal).then(
      () => 'mounted',
      (err: KubeletError) => err.message,
    );

  function attach(): void {
    node = { status: { volumesAttached: [{ name, devicePath: '' }] } };
    nodeChanged.push();
  }

  test('pods that wait for a driver to register delay no other pod', async () => {
    isRegistered = false;
    const many = Array.from({ length: 20 }, (_, at) => podUsing(`one-${at}`, 'mount'));
    for (const pod of many) void outcomeOf(pod);
    await clock.advance(0);
    for (const pod of many)
      expect(volumes.manager.activities(podUid(pod))).toMatchObject([
        { what: 'volume v waits for the driver to register' },
      ]);
  });

  test('a volume is reported in use at once, staged when it is attached, and in use until it is unstaged', async () => {
    const changes: (readonly string[] | undefined)[] = [];
    volumes.manager.inUse.changed.subscribe(() => changes.push(wanted()));
    const pod = podUsing('one', 'mount');
    const mounting = outcomeOf(pod);
    await clock.advance(0);
    expect(changes).toEqual([[name]]);
    expect(driverCalls).toEqual([]);
    attachments.reported(wanted() ?? [], node);
    attach();
    expect(await mounting).toBe('mounted');
    let unstaged: () => void = () => undefined;
    host.injectFault('removeEmptyDirectories', () => new Promise<void>((resolve) => (unstaged = resolve)));
    const ending = volumes.manager.unmount(podUid(pod), signal);
    await clock.advance(0);
    expect(wanted()).toEqual([name]);
    unstaged();
    host.injectFault('removeEmptyDirectories', undefined);
    await ending;
    expect(driverCalls.at(-1)).toBe('unstage handle-of-pv');
    expect(changes.at(-1)).toEqual([]);
  });

  test('a volume that an earlier kubelet staged is in use before its pod is known', async () => {
    await host.makeDirectory(`${staged}/handle-of-pv`);
    await host.makeDirectory('/root/pods/one/volumes/example.com~driven/pv');
    const plugin = drivenPlugin();
    const nodeDevices = plugin.nodeDevices && { ...plugin.nodeDevices, attachName: () => name };
    volumes = await begin([{ ...plugin, ...(nodeDevices && { nodeDevices }) }]);
    await clock.advance(0);
    expect(wanted()).toEqual([name]);
    expect(driverCalls).toEqual([]);
  });

  test('a pod is rejected when the node has reached its limit of attachments', async () => {
    const pod = podUsing('one', 'mount');
    const mounting = outcomeOf(pod);
    await clock.advance(0);
    attachments.reported(wanted() ?? [], node);
    await clock.advance(124_000);
    await mounting;
    expect(rejected).toEqual([
      'Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[v], unattached volumes=[v], failed to process volumes=[]: timed out waiting for the condition: volume v waits for the attach/detach controller to attach it to this node: the node is full',
    ]);
    expect(events).toEqual([]);
  });

  test('a mount that failed is retried at once when its driver registers again', async () => {
    attach();
    driver = () => Promise.reject(new KubeletError('unavailable', 'Away', 'driver is unreachable'));
    const pod = podUsing('one', 'mount');
    const mounting = outcomeOf(pod);
    await clock.advance(0);
    attachments.reported(wanted() ?? [], node);
    expect(await mounting).toContain('driver is unreachable');
    const woken: string[] = [];
    volumes.manager.wake.subscribe((uid) => woken.push(uid));
    driver = () => Promise.resolve();
    driverChanged.push('driven');
    expect(woken).toEqual(['one']);
    expect(await mounted(pod)).toBe('mounted');
  });

  test('an unmount that failed is reported, and its pod is woken when the driver registers again', async () => {
    attach();
    const pod = podUsing('one', 'mount');
    const mounting = outcomeOf(pod);
    await clock.advance(0);
    attachments.reported(wanted() ?? [], node);
    await mounting;
    host.injectFault('removeEmpty', () =>
      Promise.reject(new KubeletError('unavailable', 'Away', 'driver is unreachable')),
    );
    await expect(ended(pod)).rejects.toThrow(
      'UnmountVolume.TearDown failed for volume "pv" : driver is unreachable',
    );
    const shown = volumes.manager.activities(podUid(pod)).map(({ what }) => what);
    expect(shown.at(-1)).toContain(
      'volumes could not be unmounted, 1 attempts: UnmountVolume.TearDown failed',
    );
    const woken: string[] = [];
    volumes.manager.wake.subscribe((uid) => woken.push(uid));
    driverChanged.push('driven');
    expect(woken).toContain('one');
    host.injectFault('removeEmpty', undefined);
    await ended(pod);
    expect(volumes.manager.activities(podUid(pod))).toEqual([]);
  });

  test('a claim that a pod uses under two names is set up once', async () => {
    attach();
    const persistentVolumeClaim = { claimName: 'claim-pv' };
    const pod = aPod({
      uid: 'one',
      volumes: [
        { name: 'v', persistentVolumeClaim },
        { name: 'w', persistentVolumeClaim },
      ],
      containers: [
        aContainer({
          volumeMounts: [
            { name: 'v', mountPath: '/v' },
            { name: 'w', mountPath: '/w' },
          ],
        }),
      ],
    });
    const mounting = outcomeOf(pod);
    await clock.advance(0);
    attachments.reported(wanted() ?? [], node);
    expect(await mounting).toBe('mounted');
    expect(driverCalls).toEqual(['stage handle-of-pv', 'publish pv']);
    expect(volumes.mounts.ofPod(podUid(pod)).map(({ spec }) => spec.name)).toEqual(['v', 'w']);
    await ended(pod);
    expect(driverCalls.slice(2)).toEqual(['unpublish pv', 'unstage handle-of-pv']);
  });

  test('a pod whose device is being set up for another pod reports that it waits', async () => {
    attach();
    driver = () => new Promise(() => undefined);
    const first = outcomeOf(podUsing('one', 'mount'));
    const second = outcomeOf(podUsing('two', 'mount'));
    await clock.advance(0);
    attachments.reported(wanted() ?? [], node);
    await clock.advance(0);
    expect(volumes.manager.activities(asPodUid('two')).map(({ what }) => what)).toEqual([
      'volume v waits for another operation on its device',
    ]);
    await clock.advance(123_000);
    expect(await first).toContain('did not finish within 123000 ms');
    expect(await second).toContain('did not finish within 123000 ms');
  });

  test('a plugin without mount options rejects a persistent volume that has them', async () => {
    bound({ ...driven, mountOptions: ['noatime'] });
    expect(await mounted(podUsing('one', 'mount'))).toContain(
      'MountVolume.MountOptionSupport check failed for volume "pv" : mount options are not supported for this volume type',
    );
  });

  test('a kind of volume that no plugin serves is reported as upstream reports it', async () => {
    bound({ glusterfs: { endpoints: 'e', path: 'p' } });
    expect(await mounted(podUsing('one', 'mount'))).toBe(
      'unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: failed to get Plugin from volumeSpec for volume "v" err=no volume plugin matched',
    );
  });
});
