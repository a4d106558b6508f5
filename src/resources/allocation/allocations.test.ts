import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { silentLogger } from '../../base/log/log.ts';
import { Allocations } from './allocations.ts';

const allocatedPath = '/root/allocated_pods_state';
const actuatedPath = '/root/actuated_pods_state';

class Scene {
  readonly files = new Map<string, string>();
  readonly clock = new FakeClock();
  readonly settled: string[] = [];
  writes = 0;
  fails = false;
  stop = new AbortController();
  stopped: Promise<void> | undefined;
  /** Writes wait here until it is resolved. */
  gate = Promise.resolve();

  async life(enabled = true): Promise<Allocations> {
    const allocations = new Allocations({
      files: {
        read: async (path) => this.files.get(path),
        replace: async (path, text) => {
          this.writes += 1;
          await this.gate;
          if (this.fails) throw new Error('no space left on device');
          this.files.set(path, text);
        },
        settle: async (path) => void this.settled.push(path),
      },
      rootDir: '/root',
      enabled,
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
const cpuOf = (given: ReturnType<typeof pod>): string | undefined =>
  given.spec?.containers[0]?.resources?.requests?.['cpu'];

test('a pod is what it was allocated, however often its spec changes, also in the next life', async () => {
  const scene = new Scene();
  const first = await scene.life();
  const asked = pod('1');
  expect([first.has(uid), first.podOf(asked) === asked]).toEqual([false, true]);
  first.allocate(asked);
  expect(first.podOf(asked)).toBe(asked);
  expect(cpuOf(first.podOf(pod('2')))).toBe('1');
  first.actuate(uid, 'c', { requests: { cpu: '1' } });
  await first.saved();
  const second = await scene.life();
  expect(cpuOf(second.podOf(pod('2')))).toBe('1');
  expect(second.actuated(uid, 'c')).toEqual({ requests: { cpu: '1' } });
  second.allocate(pod('2'));
  expect(cpuOf(second.podOf(pod('3')))).toBe('2');
});

test('pods that come together are written together, and at once where somebody waits', async () => {
  const scene = new Scene();
  const allocations = await scene.life();
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

test('nobody waits for the disk: it has everything some seconds later, or when the kubelet stops', async () => {
  const scene = new Scene();
  const allocations = await scene.life();
  for (const uid of ['a', 'b', 'c']) {
    allocations.allocate(aPod({ uid }));
    await allocations.saved();
    await scene.clock.advance(500);
  }
  expect(scene.settled).toEqual([]);
  await scene.clock.advance(500);
  expect(scene.settled).toEqual([allocatedPath]);
  allocations.allocate(aPod({ uid: 'd' }));
  scene.stop.abort();
  await scene.stopped;
  expect(scene.settled).toEqual([allocatedPath, allocatedPath]);
  expect(scene.files.get(allocatedPath)).toContain('d');
  expect(scene.clock.pendingTimers()).toBe(0);
});

for (const [what, text] of [
  ['empty', ''],
  ['of nothing but zeros', '\0'.repeat(300)],
] as const) {
  test(`a file that a loss of power left ${what} is taken for none`, async () => {
    const scene = new Scene();
    scene.files.set(allocatedPath, text);
    expect((await scene.life()).uids().size).toBe(0);
  });
}

test('the view of a pod is made once for each allocation', async () => {
  const allocations = await new Scene().life();
  allocations.allocate(pod('1'));
  const asked = pod('2');
  expect(allocations.podOf(asked)).toBe(allocations.podOf(asked));
  allocations.allocate(pod('3'));
  expect(cpuOf(allocations.podOf(asked))).toBe('3');
});

test('only what changes is announced and written; amounts that are only spelled otherwise do not', async () => {
  const scene = new Scene();
  const allocations = await scene.life();
  const told: string[] = [];
  allocations.changed.subscribe((each) => void told.push(each));
  for (const cpu of ['1', '1000m', '1.0']) allocations.allocate(pod(cpu));
  await allocations.saved();
  allocations.actuate(uid, 'c', { limits: { cpu: '1' } });
  await allocations.saved();
  allocations.actuate(uid, 'c', { limits: { cpu: '1000m' } });
  await allocations.saved();
  expect([told, scene.writes]).toEqual([['uid-p'], 2]);
});

test('a burst of pods is one write and one more, and each waits only for its own', async () => {
  const scene = new Scene();
  const allocations = await scene.life();
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
  expect((await scene.life()).uids().size).toBe(100);
});

test('a write that fails is told to who waits for it, and made good by the next who asks', async () => {
  const scene = new Scene();
  const allocations = await scene.life();
  scene.fails = true;
  allocations.allocate(pod('1'));
  await expect(allocations.saved()).rejects.toThrow('no space left');
  await expect(allocations.saved()).rejects.toThrow('no space left');
  scene.fails = false;
  await allocations.saved();
  expect((await scene.life()).has(uid)).toBe(true);
});

test('what is forgotten is gone from both files', async () => {
  const scene = new Scene();
  const allocations = await scene.life();
  allocations.allocate(pod('1'));
  allocations.actuate(uid, 'c', {});
  allocations.forget(uid);
  await allocations.saved();
  expect(scene.files.get(allocatedPath)).toContain('"data":"{}"');
  expect([...(await scene.life()).uids()]).toEqual([]);
});

test('a plain init container has no allocation of its own, a sidecar has', async () => {
  const allocations = await new Scene().life();
  const resources = { requests: { cpu: '1' } };
  const more = { requests: { cpu: '2' } };
  const of = (asked: typeof resources) =>
    aPod({
      initContainers: [
        aContainer({ name: 'plain', resources: asked }),
        aContainer({ name: 'sidecar', restartPolicy: 'Always', resources: asked }),
      ],
    });
  allocations.allocate(of(resources));
  const seen = allocations.podOf(of(more)).spec?.initContainers?.map((each) => each.resources);
  expect(seen).toEqual([more, resources]);
});

for (const path of [allocatedPath, actuatedPath])
  test(`a damaged ${path} keeps the kubelet from starting, and says what to do`, async () => {
    const scene = new Scene();
    scene.files.set(path, '{"data":"{}","checksum":1}');
    await expect(scene.life()).rejects.toThrow(
      `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "${path}" before restarting Kubelet`,
    );
  });

test('without the gate nothing is read, kept or written', async () => {
  const scene = new Scene();
  scene.files.set(allocatedPath, 'damaged');
  const allocations = await scene.life(false);
  allocations.allocate(pod('1'));
  allocations.actuate(uid, 'c', {});
  await allocations.saved();
  expect([scene.writes, allocations.has(uid), cpuOf(allocations.podOf(pod('2')))]).toEqual([0, false, '2']);
});
