// The figures for eviction on cgroups, files and a runtime in memory, with faults of each.
import { expect, test } from 'vitest';
import { anObservedContainer, anObservedPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { fakeStatsEdge } from '../../../test/fakes/fake-stats-edge.ts';
import { FakeCgroupReader, memoryUsage } from '../../../test/simulate/stats-world.ts';
import type { ContainerStats, ImageFsInfoResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import type { FileSystemRoom } from '../../api/ports/host-usage.ts';
import type { LocalVolumes, VolumeUsage } from '../../api/ports/volume-stats.ts';
import { silentLogger } from '../../base/log/log.ts';
import { NodeLoad, type NodeLoadDeps } from './node-load.ts';

const { signal } = new AbortController();
const never = (): Promise<never> => new Promise(() => undefined);
const fileSystem = (mountpoint: string) => ({
  timestamp: 0n,
  fsId: { mountpoint },
  usedBytes: undefined,
  inodesUsed: undefined,
});
const tmp: VolumeUsage = {
  name: 'tmp',
  claim: undefined,
  isLocalEphemeral: true,
  sizeLimitBytes: 10n,
  measuredAtMs: 0,
  usedBytes: 20,
  capacityBytes: 100,
  availableBytes: 80,
  inodesUsed: 2,
  inodes: 20,
  inodesFree: 18,
};

function statsOf(id: string): ContainerStats {
  return {
    attributes: { id, metadata: { name: 'c', attempt: 0 }, labels: {}, annotations: {} },
    cpu: undefined,
    memory: {
      timestamp: 0n,
      workingSetBytes: { value: 700n },
      availableBytes: undefined,
      usageBytes: undefined,
      rssBytes: undefined,
      pageFaults: undefined,
      majorPageFaults: undefined,
      psi: undefined,
    },
    writableLayer: { ...fileSystem('/images'), usedBytes: { value: 55n }, inodesUsed: { value: 3n } },
    swap: undefined,
    io: undefined,
  };
}

class World {
  readonly clock = new FakeClock();
  readonly cgroups = new FakeCgroupReader(this.clock);
  readonly pods = new Map<string, ObservedPod>();
  readonly devices = new Map([
    ['/root', '1'],
    ['/images', '2'],
    ['/layers', '3'],
  ]);
  readonly volumes = new Map<string, LocalVolumes>();
  readonly calls: string[] = [];
  readonly warned: unknown[] = [];
  imageFs: () => Promise<ImageFsInfoResponse> = async () => ({
    imageFilesystems: [fileSystem('/images')],
    containerFilesystems: [],
  });
  readStats: () => Promise<ContainerStats[]> = async () => [statsOf('c-1'), statsOf('c-2')];
  filesIn: NodeLoadDeps['host']['filesIn'] = async () => ({ bytes: 4096, inodes: 1 });

  constructor() {
    this.cgroups.groups.set('/', { memory: memoryUsage({ limitBytes: 8000 }) });
    this.cgroups.groups.set('/kubepods', { memory: memoryUsage({ limitBytes: 7000 }) });
    this.addPod(1);
  }

  addPod(index: number): void {
    const uid = asPodUid(`uid-${index}`);
    const container = anObservedContainer({
      id: `c-${index}` as never,
      sandboxId: `sandbox-${index}` as never,
    });
    const pod = anObservedPod({ uid, name: `p${index}`, containers: [container] });
    const sandboxes = pod.sandboxes.map((each) => ({ ...each, id: `sandbox-${index}` as never }));
    this.pods.set(uid, { ...pod, sandboxes });
    this.cgroups.groups.set(`/kubepods/pod${uid}`, { tasks: 12 });
    this.cgroups.groups.set(`/kubepods/pod${uid}/sandbox-${index}`, { pids: [41] });
    this.cgroups.groups.set(`/kubepods/pod${uid}/c-${index}`, {
      pids: [42, 43],
      memory: memoryUsage({ workingSetBytes: 800 }),
    });
  }

  room = async (path: string): Promise<FileSystemRoom> => {
    const device = this.devices.get(path);
    if (device === undefined) throw new Error('ENOENT');
    return { ...(await fakeStatsEdge.host.space(path)), device };
  };

  load(over: Partial<NodeLoadDeps> = {}): NodeLoad {
    const called = <T>(name: string, answer: () => Promise<T>): Promise<T> => {
      this.calls.push(name);
      return answer();
    };
    return new NodeLoad({
      observed: { all: () => this.pods },
      cgroups: this.cgroups,
      places: { root: '/kubepods', classes: ['/kubepods'], uidOf: (path) => /\/pod([^/]+)$/.exec(path)?.[1] },
      host: {
        ...fakeStatsEdge.host,
        room: (path) => called(`room ${path}`, () => this.room(path)),
        filesIn: (path) => called(`files ${path}`, () => this.filesIn(path)),
        file: async () => ({ bytes: 512, inodes: 1 }),
      },
      runtime: {
        imageFsInfo: () => called('imageFsInfo', this.imageFs),
        listContainerStats: ({ filter }) =>
          called(`listContainerStats ${filter?.podSandboxId ?? 'all'}`, async () => ({
            stats: await this.readStats(),
          })),
      },
      volumes: {
        localOfPod: (uid) => this.volumes.get(uid) ?? { fresh: Promise.resolve(), latest: () => [] },
      },
      rootDir: '/root',
      podLogsDir: '/logs',
      hugePageBytes: 0,
      pause: () => Promise.resolve(),
      clock: this.clock,
      log: { ...silentLogger, warn: (_message, fields) => void this.warned.push(fields?.['faults']) },
      ...over,
    });
  }
}

test('memory reads the kernel at each call, without pods, disks or runtime', () => {
  const world = new World();
  const load = world.load({ hugePageBytes: 100 });
  expect(load.memory()).toMatchObject({
    memory: { capacityBytes: 7900, usageBytes: 1000, workingSetBytes: 900, availableBytes: 7000 },
    kernelAvailableBytes: 7_000_000_000,
    // Huge pages are not taken off the limit of pods, as upstream.
    podMemory: { capacityBytes: 7000, availableBytes: 6100 },
  });
  world.cgroups.groups.set('/', { memory: memoryUsage({ workingSetBytes: 20_000, limitBytes: 8000 }) });
  world.cgroups.groups.set('/kubepods', {});
  world.cgroups.reads = 0;
  const { memory, podMemory } = load.memory();
  expect([memory?.availableBytes, podMemory, world.cgroups.reads, world.calls]).toEqual([
    0,
    undefined,
    2,
    [],
  ]);
});

test('memory is undefined, not zero, on a machine without cgroups', () => {
  const load = new World().load({ cgroups: undefined, places: undefined });
  expect(load.memory()).toEqual({
    memory: undefined,
    kernelAvailableBytes: 7_000_000_000,
    podMemory: undefined,
  });
});

test('signals has every part, with one object if the runtime has one file system', async () => {
  const world = new World();
  const signals = await world.load().signals(signal);
  expect(signals).toMatchObject({
    memory: { availableBytes: 7100 },
    nodeFs: { device: '1', capacityBytes: 100_000, availableBytes: 60_000, inodes: 1_000, inodesFree: 900 },
    imageFs: { device: '2' },
    processes: { max: 32_768, current: 7 },
  });
  expect(signals.containerFs).toBe(signals.imageFs);
  expect(world.calls).toEqual(['room /root', 'imageFsInfo', 'room /images']);
});

test('the file system of containers is another object only on another device', async () => {
  const world = new World();
  world.imageFs = async () => ({
    imageFilesystems: [fileSystem('/images')],
    containerFilesystems: [fileSystem('/layers')],
  });
  const split = await world.load().signals(signal);
  expect([split.imageFs?.device, split.containerFs?.device]).toEqual(['2', '3']);
  world.devices.set('/layers', '2');
  const same = await world.load().signals(signal);
  expect(same.containerFs).toBe(same.imageFs);
});

test('a hung file system costs its own part and two seconds', async () => {
  const world = new World();
  const { room } = world;
  world.room = (path) => (path === '/root' ? never() : room(path));
  const pending = world.load().signals(signal);
  await world.clock.advance(2_000);
  const signals = await pending;
  expect(signals.nodeFs).toBeUndefined();
  expect(signals).toMatchObject({ imageFs: { device: '2' }, memory: { availableBytes: 7100 } });
  expect(world.warned).toHaveLength(1);
});

test('memory is read after a file system that took long', async () => {
  const world = new World();
  world.room = never;
  const pending = world.load().signals(signal);
  await world.clock.advance(1_000);
  world.cgroups.groups.set('/', { memory: memoryUsage({ workingSetBytes: 7_999, limitBytes: 8000 }) });
  await world.clock.advance(1_000);
  await world.clock.advance(2_000);
  expect((await pending).memory?.availableBytes).toBe(1);
});

test('a runtime that is unreachable costs two seconds once, and is queried by one call at a time', async () => {
  const world = new World();
  world.imageFs = never;
  const load = world.load();
  const pending = Promise.all([load.signals(signal), load.signals(signal)]);
  await world.clock.advance(2_000);
  const [first, second] = await pending;
  expect([first.imageFs, second.containerFs, first.nodeFs?.device]).toEqual([undefined, undefined, '1']);
  expect(world.calls.filter((call) => call === 'imageFsInfo')).toHaveLength(1);
});

test('measures the known file system of images afresh while the runtime is unreachable', async () => {
  const world = new World();
  const load = world.load();
  await load.signals(signal);
  world.imageFs = never;
  await world.clock.advance(300_000);
  const signals = await load.signals(signal);
  expect(signals.imageFs).toMatchObject({ device: '2', atMs: world.clock.now() });
  await world.clock.advance(2_000);
});

test('queries the runtime once a minute, and again if its file system cannot be measured', async () => {
  const world = new World();
  const load = world.load();
  const queries = (): number => world.calls.filter((call) => call === 'imageFsInfo').length;
  for (let pass = 0; pass < 5; pass++) {
    await load.signals(signal);
    await world.clock.advance(10_000);
  }
  expect(queries()).toBe(1);
  world.devices.delete('/images');
  world.devices.set('/moved', '4');
  world.imageFs = async () => ({ imageFilesystems: [fileSystem('/moved')], containerFilesystems: [] });
  await load.signals(signal);
  await load.signals(signal);
  expect((await load.signals(signal)).imageFs?.device).toBe('4');
});

test('logs faults when they change', async () => {
  const world = new World();
  world.devices.delete('/root');
  const load = world.load();
  for (let pass = 0; pass < 3; pass++) await load.signals(signal);
  expect(world.warned).toEqual([['file system of /root: ENOENT']]);
});

test('pods without disk reads cgroups only, and counts threads and nested cgroups', async () => {
  const world = new World();
  const pods = await world.load().pods({ disk: false }, signal);
  expect([...pods.values()]).toEqual([
    {
      uid: 'uid-1',
      workingSetBytes: 900,
      ephemeralBytes: undefined,
      ephemeralInodes: undefined,
      processes: 12,
      containers: [
        {
          name: 'c',
          workingSetBytes: 800,
          writtenBytes: undefined,
          writtenInodes: undefined,
          logBytes: 0,
          logInodes: 0,
        },
      ],
      volumes: [],
    },
  ]);
  expect(world.calls).toEqual([]);
});

test('without the pids controller the processes of all cgroups of the pod count', async () => {
  const world = new World();
  world.cgroups.groups.set('/kubepods/poduid-1', {});
  const pods = await world.load().pods({ disk: false }, signal);
  expect(pods.get(asPodUid('uid-1'))?.processes).toBe(3);
});

test('pods with disk adds layers, logs, other files and volumes', async () => {
  const world = new World();
  world.volumes.set('uid-1', { fresh: Promise.resolve(), latest: () => [tmp] });
  const pods = await world.load().pods({ disk: true }, signal);
  expect(pods.get(asPodUid('uid-1'))).toMatchObject({
    ephemeralBytes: 55 + 4096 + 4096 + 512 + 20,
    ephemeralInodes: 3 + 1 + 1 + 1 + 2,
    containers: [{ writtenBytes: 55, writtenInodes: 3, logBytes: 4096, logInodes: 1 }],
    volumes: [{ name: 'tmp', usedBytes: 20, sizeLimitBytes: 10n }],
  });
});

test('only some pods: others are neither read nor requested from the runtime', async () => {
  const world = new World();
  for (let index = 2; index <= 5; index++) world.addPod(index);
  const request = { disk: true, only: new Set([asPodUid('uid-2'), asPodUid('gone')]) };
  expect([...(await world.load().pods(request, signal)).keys()]).toEqual(['uid-2']);
  expect(world.calls).toEqual([
    'files /logs/default_p2_uid-2/c',
    'listContainerStats sandbox-2',
    'files /logs/default_p2_uid-2',
  ]);
});

test('a pod without cgroup has the figures of the runtime; without any figure it is omitted', async () => {
  const world = new World();
  world.addPod(2);
  for (const path of world.cgroups.groups.keys())
    if (path.includes('/pod')) world.cgroups.groups.delete(path);
  world.readStats = async () => [statsOf('c-1')];
  const pods = await world.load().pods({ disk: false }, signal);
  expect([...pods.values()]).toMatchObject([{ uid: 'uid-1', workingSetBytes: 700, processes: undefined }]);
});

test('a runtime that is unreachable leaves the layers unknown and the rest measured', async () => {
  const world = new World();
  world.readStats = never;
  const pending = world.load().pods({ disk: true }, signal);
  await world.clock.advance(2_500);
  const pod = (await pending).get(asPodUid('uid-1'));
  expect(pod).toMatchObject({ workingSetBytes: 900, ephemeralBytes: 4096 + 4096 + 512 });
  expect(pod?.containers[0]?.writtenBytes).toBeUndefined();
});

test('a slow volume delays the result by less than 3 s, with the figure known before', async () => {
  const world = new World();
  world.addPod(2);
  world.volumes.set('uid-1', { fresh: never(), latest: () => [tmp] });
  const pending = world.load().pods({ disk: true }, signal);
  await world.clock.advance(2_900);
  const pods = await pending;
  expect(pods.get(asPodUid('uid-1'))?.volumes).toEqual([tmp]);
  expect(pods.get(asPodUid('uid-2'))?.ephemeralBytes).toBe(55 + 4096 + 4096 + 512);
});

test('hung logs leave the disk usage unknown, and are not read again before they respond', async () => {
  const world = new World();
  for (let index = 2; index <= 9; index++) world.addPod(index);
  const hung: (() => void)[] = [];
  world.filesIn = () => new Promise((resolve) => hung.push(() => resolve({ bytes: 1, inodes: 1 })));
  const load = world.load();
  const first = load.pods({ disk: true }, signal);
  await world.clock.advance(2_500);
  expect((await first).get(asPodUid('uid-1'))).toMatchObject({
    workingSetBytes: 900,
    ephemeralBytes: undefined,
  });
  const second = await load.pods({ disk: true }, signal);
  expect([hung.length, second.get(asPodUid('uid-2'))?.ephemeralBytes]).toEqual([2, undefined]);
  world.filesIn = async () => ({ bytes: 4096, inodes: 1 });
  for (const respond of hung) respond();
  await world.clock.advance(0);
  const third = await load.pods({ disk: true }, signal);
  expect(third.get(asPodUid('uid-2'))?.ephemeralBytes).toBe(4096 + 4096 + 512 + 55);
});
