import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { CheckpointFault } from '../checkpoint/kept-checkpoint.ts';
import { Allocations } from './allocations.ts';

const allocatedPath = '/root/allocated_pods_state';
const actuatedPath = '/root/actuated_pods_state';

class Scene {
  readonly files = new Map<string, string>();
  readonly clock = new FakeClock();
  readonly flushed: string[] = [];
  readonly faults: CheckpointFault[] = [];
  writes = 0;
  fails = false;
  stop = new AbortController();
  stopped: Promise<void> | undefined;
  /** Writes wait until this promise is resolved. */
  gate = Promise.resolve();

  async start(enabled = true): Promise<Allocations> {
    const allocations = new Allocations({
      files: {
        read: async (path) => this.files.get(path),
        replace: async (path, text) => {
          this.writes += 1;
          await this.gate;
          if (this.fails) throw new Error('no space left on device');
          this.files.set(path, text);
        },
        flush: async (path) => void this.flushed.push(path),
        keep: async (path, as) => {
          const text = this.files.get(path);
          if (text !== undefined) this.files.set(as, text);
        },
      },
      rootDir: '/root',
      enabled,
      podLevel: true,
      faults: { add: (fault) => this.faults.push(fault) },
      clock: this.clock,
      log: silentLogger,
    });
    this.stop = new AbortController();
    ({ stopped: this.stopped } = await allocations.start(this.stop.signal));
    return allocations;
  }
}

const uid = asPodUid('uid-p');
const pod = (cpu: string, memory = '64Mi') =>
  aPod({ containers: [aContainer({ resources: { requests: { cpu, memory } } })] });
const cpuOf = ({ spec }: ReturnType<typeof pod>): string | undefined =>
  spec?.containers[0]?.resources?.requests?.['cpu'];

test('keeps the allocation of a pod while its spec changes and across a restart', async () => {
  const scene = new Scene();
  const first = await scene.start();
  const requested = pod('1');
  expect([first.has(uid), first.podOf(requested) === requested]).toEqual([false, true]);
  first.allocate(requested);
  expect(first.podOf(requested)).toBe(requested);
  expect(cpuOf(first.podOf(pod('2')))).toBe('1');
  first.actuate(uid, 'c', { requests: { cpu: '1' } });
  await first.saved();
  const second = await scene.start();
  expect(cpuOf(second.podOf(pod('2')))).toBe('1');
  expect(second.actuated(uid, 'c')).toEqual({ requests: { cpu: '1' } });
  second.allocate(pod('2'));
  expect(cpuOf(second.podOf(pod('3')))).toBe('2');
});

test('writes the pods of a burst together, and at once if a caller waits', async () => {
  const scene = new Scene();
  const allocations = await scene.start();
  for (const name of ['a', 'b', 'c']) allocations.allocate(aPod({ uid: name }));
  await scene.clock.advance(7);
  expect(scene.writes).toBe(0);
  await scene.clock.advance(1);
  expect(scene.writes).toBe(1);
  expect(scene.files.get(allocatedPath)).toMatch(/a.*b.*c/);
  allocations.allocate(aPod({ uid: 'd' }));
  await allocations.saved();
  expect(scene.writes).toBe(2);
});

test('syncs the file to disk seconds later or on stop, without delaying callers', async () => {
  const scene = new Scene();
  const allocations = await scene.start();
  for (const uid of ['a', 'b', 'c']) {
    allocations.allocate(aPod({ uid }));
    await allocations.saved();
    await scene.clock.advance(500);
  }
  expect(scene.flushed).toEqual([]);
  await scene.clock.advance(500);
  expect(scene.flushed).toEqual([allocatedPath]);
  allocations.allocate(aPod({ uid: 'd' }));
  scene.stop.abort();
  await scene.stopped;
  expect(scene.flushed).toEqual([allocatedPath, allocatedPath]);
  expect(scene.files.get(allocatedPath)).toContain('d');
  expect(scene.clock.pendingTimers()).toBe(0);
});

test('builds the allocated pod once per allocation', async () => {
  const allocations = await new Scene().start();
  allocations.allocate(pod('1'));
  const requested = pod('2');
  expect(allocations.podOf(requested)).toBe(allocations.podOf(requested));
  allocations.allocate(pod('3'));
  expect(cpuOf(allocations.podOf(requested))).toBe('3');
});

test('announces and writes only changed amounts, not another spelling of the same amount', async () => {
  const scene = new Scene();
  const allocations = await scene.start();
  const announced: string[] = [];
  allocations.changed.subscribe((each) => void announced.push(each));
  for (const cpu of ['1', '1000m', '1.0']) allocations.allocate(pod(cpu));
  await allocations.saved();
  allocations.actuate(uid, 'c', { limits: { cpu: '1' } });
  await allocations.saved();
  allocations.actuate(uid, 'c', { limits: { cpu: '1000m' } });
  await allocations.saved();
  expect([announced, scene.writes]).toEqual([['uid-p'], 2]);
});

test('writes two bursts of pods twice, and each caller waits only for its own write', async () => {
  const scene = new Scene();
  const allocations = await scene.start();
  let open = (): void => undefined;
  scene.gate = new Promise((resolve) => {
    open = resolve;
  });
  const burst = (from: number): void => {
    for (let at = from; at < from + 50; at++)
      allocations.allocate(aPod({ uid: `uid-${at}`, containers: [aContainer()] }));
  };
  burst(0);
  const first = allocations.saved();
  await scene.clock.advance(0);
  expect(scene.writes).toBe(1);
  burst(50);
  open();
  await first;
  await allocations.saved();
  expect(scene.writes).toBe(2);
  expect((await scene.start()).uids().size).toBe(100);
});

test('rejects waiting callers after a failed write, and retries it for the next caller', async () => {
  const scene = new Scene();
  const allocations = await scene.start();
  scene.fails = true;
  allocations.allocate(pod('1'));
  await expect(allocations.saved()).rejects.toThrow('no space left');
  await expect(allocations.saved()).rejects.toThrow('no space left');
  scene.fails = false;
  await allocations.saved();
  expect((await scene.start()).has(uid)).toBe(true);
});

test('removes a forgotten pod from both files', async () => {
  const scene = new Scene();
  const allocations = await scene.start();
  allocations.allocate(pod('1'));
  allocations.actuate(uid, 'c', {});
  allocations.forget(uid);
  await allocations.saved();
  expect(scene.files.get(allocatedPath)).toContain('"data":"{}"');
  expect([...(await scene.start()).uids()]).toEqual([]);
});

test('allocates to init containers, too', async () => {
  const allocations = await new Scene().start();
  const resources = { requests: { cpu: '1' } };
  const more = { requests: { cpu: '2' } };
  const podWith = (requested: typeof resources) =>
    aPod({
      initContainers: [
        aContainer({ name: 'plain', resources: requested }),
        aContainer({ name: 'sidecar', restartPolicy: 'Always', resources: requested }),
      ],
    });
  allocations.allocate(podWith(resources));
  const allocated = allocations.podOf(podWith(more)).spec?.initContainers?.map((each) => each.resources);
  expect(allocated).toEqual([resources, resources]);
});

const sized = (cpu?: string) =>
  aPod({ containers: [aContainer()], ...(cpu === undefined ? {} : { resources: { requests: { cpu } } }) });

test('keeps pod-level resources, also when a pod has none at first, and across a restart', async () => {
  const scene = new Scene();
  const first = await scene.start();
  first.allocate(sized('1'));
  expect(first.podOf(sized('2')).spec?.resources).toEqual({ requests: { cpu: '1' } });
  first.allocate(sized());
  expect(first.podOf(sized('2')).spec).not.toHaveProperty('resources');
  expect(first.podOf(sized('2')).spec).toEqual(sized().spec);
  await first.saved();
  const second = await scene.start();
  expect(second.podOf(sized('2')).spec).not.toHaveProperty('resources');
  expect(second.podOf(sized()).spec).toEqual(sized().spec);
});

test('takes over the files of v1.34 without losing a record or changing pod-level resources', async () => {
  const scene = new Scene();
  const data = '{"entries":{"uid-p":{"ContainerResources":{"c":{"requests":{"cpu":"1"}}}}}}';
  const old = JSON.stringify({ data, checksum: fnv1a32(`(string)${data}`) });
  scene.files.set(allocatedPath, old);
  scene.files.set(actuatedPath, old);
  const allocations = await scene.start();
  const requested = aPod({
    resources: { limits: { cpu: '4' } },
    containers: [aContainer({ resources: { requests: { cpu: '2' } } })],
  });
  const allocated = allocations.podOf(requested);
  expect([cpuOf(allocated), allocated.spec?.resources]).toEqual(['1', { limits: { cpu: '4' } }]);
  expect(allocations.actuatedPodLevel(uid)).toBeUndefined();
  allocations.allocate(allocated);
  allocations.actuatePodLevel(uid, allocated.spec?.resources);
  await allocations.saved();
  for (const path of [allocatedPath, actuatedPath])
    expect(JSON.parse(scene.files.get(path) ?? '')).toMatchObject({
      data: '{"entries":{"uid-p":{"ContainerResources":{"c":{"requests":{"cpu":"1"}}},"PodLevelResources":{"limits":{"cpu":"4"}},"EmptyDirVolumeLimits":null}}}',
    });
});

test('keeps the volume limits that a Go kubelet recorded', async () => {
  const scene = new Scene();
  const data =
    '{"entries":{"uid-p":{"ContainerResources":{"c":{}},"PodLevelResources":null,"EmptyDirVolumeLimits":{"shm":"1Mi"}}}}';
  const old = JSON.stringify({ data, checksum: fnv1a32(`(string)${data}`) });
  scene.files.set(allocatedPath, old);
  scene.files.set(actuatedPath, old);
  const allocations = await scene.start();
  allocations.allocate(sized('1'));
  allocations.actuate(uid, 'c', { requests: { cpu: '1' } });
  allocations.actuateNew(sized('1'));
  await allocations.saved();
  for (const path of [allocatedPath, actuatedPath])
    expect(scene.files.get(path)).toContain('{\\"shm\\":\\"1Mi\\"}');
});

test("a pod's new cgroup stands for containers that have not started, and changes nothing that was recorded", async () => {
  const allocations = await new Scene().start();
  allocations.actuate(uid, 'c', { limits: { cpu: '1' } });
  allocations.actuateNew(
    aPod({ resources: { limits: { cpu: '2' } }, containers: [aContainer(), aContainer({ name: 'd' })] }),
  );
  expect([allocations.actuated(uid, 'c'), allocations.actuated(uid, 'd')]).toEqual([
    { limits: { cpu: '1' } },
    {},
  ]);
  expect(allocations.actuatedPodLevel(uid)).toEqual({ limits: { cpu: '2' } });
});

describe('a damaged file', () => {
  const damages = [
    ['with a wrong checksum', '{"data":"{}","checksum":1}', 'checkpoint is corrupted'],
    ['of another kind', '{"policyName":"none","defaultCpuSet":""}', 'checkpoint is corrupted'],
    ['that is truncated', '{"data":"{\\"entr', 'it is not JSON'],
    ['that a power loss left empty', '', 'it is empty'],
    ['that a power loss left full of zeros', '\0'.repeat(300), 'it is empty'],
  ] as const;

  for (const [what, text, why] of damages)
    for (const path of [allocatedPath, actuatedPath])
      test(`${what} does not keep the kubelet from starting: ${path}`, async () => {
        const scene = new Scene();
        scene.files.set(path, text);
        const allocations = await scene.start();
        expect(allocations.uids().size).toBe(0);
        const setAside = path.replace('/root/', '/root/.').concat('.damaged');
        expect(scene.faults).toEqual([
          { path, why: expect.stringContaining(why), setAside, usedPrevious: false },
        ]);
        expect(scene.files.get(setAside)).toBe(text);
      });

  /** The files of a pod that was resized from `before` to `after`. */
  async function resized(before: string, after: string): Promise<Scene> {
    const scene = new Scene();
    const allocations = await scene.start();
    for (const cpu of [before, after]) {
      allocations.allocate(pod(cpu));
      allocations.actuateNew(pod(cpu));
      allocations.actuate(uid, 'c', pod(cpu).spec?.containers[0]?.resources ?? {});
      await allocations.saved();
    }
    return scene;
  }

  test('of allocations is rebuilt from what containers were given: a complete resize is not reverted', async () => {
    const scene = await resized('1', '2');
    scene.files.set(allocatedPath, 'damaged');
    const allocations = await scene.start();
    expect([
      cpuOf(allocations.podOf(pod('3'))),
      scene.faults.map(({ usedPrevious }) => usedPrevious),
    ]).toEqual(['2', [true]]);
  });

  test('of actuated resources leaves them unknown, so that the running containers are compared', async () => {
    const scene = await resized('1', '2');
    scene.files.set(actuatedPath, 'damaged');
    const allocations = await scene.start();
    expect([allocations.actuated(uid, 'c'), cpuOf(allocations.podOf(pod('3')))]).toEqual([undefined, '2']);
    expect(scene.faults.map(({ usedPrevious }) => usedPrevious)).toEqual([false]);
  });

  test('is replaced by its predecessor if both files are damaged', async () => {
    const scene = await resized('1', '2');
    scene.files.set(allocatedPath, 'damaged').set(actuatedPath, 'damaged');
    const allocations = await scene.start();
    expect([cpuOf(allocations.podOf(pod('3'))), allocations.actuated(uid, 'c')]).toEqual(['1', undefined]);
    expect(scene.faults.map(({ path }) => path)).toEqual([actuatedPath, allocatedPath]);
  });

  test('is replaced at once, so that the next start finds no fault', async () => {
    const scene = await resized('1', '2');
    scene.files.set(allocatedPath, 'damaged').set(actuatedPath, 'damaged');
    await (await scene.start()).saved();
    scene.faults.length = 0;
    expect((await scene.start()).has(uid)).toBe(true);
    expect(scene.faults).toEqual([]);
  });
});

test('neither reads, stores nor writes anything without the gate', async () => {
  const scene = new Scene();
  scene.files.set(allocatedPath, 'damaged');
  const allocations = await scene.start(false);
  allocations.allocate(pod('1'));
  allocations.actuate(uid, 'c', {});
  await allocations.saved();
  expect([scene.writes, allocations.has(uid), cpuOf(allocations.podOf(pod('2')))]).toEqual([0, false, '2']);
});
