import { expect, onTestFinished, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Container, ContainerStatusResponse, Image } from '../../api/cri/generated/runtime/v1/api.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { EventText } from '../../api/ports/events.ts';
import { startComponent } from '../../base/component.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { ImageGc, type ImageGcDeps } from './image-gc.ts';

const minute = 60_000;
const { signal } = new AbortController();

interface FakeImage {
  readonly size?: number;
  readonly pinned?: boolean;
  readonly tag?: string;
  readonly handler?: string;
}

/** A node with images and containers, each of which a test may change at any time. */
function aNode(
  images: Readonly<Record<string, FakeImage>>,
  {
    policy = {},
    ...over
  }: Partial<Omit<ImageGcDeps, 'policy'>> & { policy?: Partial<ImageGcDeps['policy']> } = {},
) {
  const clock = new FakeClock();
  const it = {
    clock,
    present: new Map(Object.entries(images)),
    /** Image IDs by container ID. */
    containers: new Map<string, string>(),
    /** Images that containers mount, by container ID. */
    mounts: new Map<string, string>(),
    space: { capacityBytes: 1000, availableBytes: 600 } as
      | { capacityBytes: number; availableBytes: number }
      | undefined,
    pods: [] as Pod[],
    events: [] as EventText[],
    removed: [] as string[],
    counted: [] as string[],
    pruned: [] as (readonly [readonly string[], number])[],
    observed: new Map<string, ObservedPod>(),
    onRemove: async (_id: string): Promise<void> => undefined,
    statusCalls: 0,
  };
  const gc = new ImageGc({
    images: {
      listImages: async () => ({
        images: [...it.present].map(
          ([id, { handler: runtimeHandler = '', pinned = false, size = 1024, tag }]) =>
            Image.fromPartial({
              id: id.split(',')[0] ?? '',
              size,
              pinned,
              repoTags: tag === undefined ? [] : [tag],
              spec: { runtimeHandler },
            }),
        ),
      }),
      removeImage: async ({ image }) => {
        const key = [image?.image, image?.runtimeHandler].filter((part) => part).join(',');
        await it.onRemove(key);
        it.present.delete(key);
        it.removed.push(key);
        return {};
      },
    },
    runtime: {
      listContainers: async () => ({
        containers: [...it.containers].map(([id, imageId]) => Container.fromPartial({ id, imageId })),
      }),
      containerStatus: async ({ containerId = '' }) => {
        it.statusCalls += 1;
        if (!it.containers.has(containerId)) throw new KubeletError('not-found', 'NOT_FOUND', 'gone');
        const image = it.mounts.get(containerId);
        return ContainerStatusResponse.fromPartial({
          status: { mounts: image === undefined ? [] : [{ image: { image } }] },
        });
      },
    },
    observed: { all: () => it.observed },
    active: { all: () => it.pods },
    sandboxImage: async () => '',
    byHandler: false,
    fs: { imageFs: async () => it.space },
    history: { prune: async (present, beforeMs) => void it.pruned.push([[...present].toSorted(), beforeMs]) },
    events: { node: (event) => void it.events.push(event) },
    metrics: { countCollected: (reason) => void it.counted.push(reason) },
    keep: [],
    clock,
    log: silentLogger,
    ...over,
    policy: { highThresholdPercent: 90, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0, ...policy },
  });
  return { ...it, it, gc };
}

async function started(node: ReturnType<typeof aNode>): Promise<void> {
  const stop = new AbortController();
  const { stopped } = await startComponent(node.gc, stop.signal);
  onTestFinished(async () => {
    stop.abort(new Aborted('end'));
    await node.clock.until(stopped);
    expect(node.clock.pendingTimers()).toBe(0);
  });
  await node.clock.advance(0);
}

const full = { capacityBytes: 1000, availableBytes: 50 };

test('deleteUnusedImages removes every unused image and reports the freed bytes', async () => {
  const { containers, counted, gc, it } = aNode({ a: { size: 1024 }, b: { size: 2048 }, c: {} });
  containers.set('1', 'c');
  expect(await gc.deleteUnusedImages(signal)).toBe(3072);
  expect([...it.present.keys()]).toEqual(['c']);
  expect(counted).toEqual(['space', 'space']);
});

test('the sandbox image is protected by its pin, and by name on runtimes that do not pin it', async () => {
  const { gc, it } = aNode(
    { pause: { pinned: true }, older: { tag: 'registry.k8s.io/pause:3.6' }, c: {} },
    { sandboxImage: async () => 'registry.k8s.io/pause:3.6' },
  );
  await gc.deleteUnusedImages(signal);
  expect([...it.present.keys()]).toEqual(['pause', 'older']);
});

test('images below the minimum age stay, also for eviction', async () => {
  const node = aNode({ a: {}, b: {} }, { policy: { minAgeMs: 3_000 } });
  await started(node);
  expect(await node.gc.deleteUnusedImages(signal)).toBe(0);
  await node.clock.advance(3_000);
  expect(await node.gc.deleteUnusedImages(signal)).toBe(2048);
});

test('a kept image stays, for eviction, disk usage and age', async () => {
  const node = aNode(
    { a: { tag: 'docker.io/library/app:1' }, b: { tag: 'docker.io/library/other:1' } },
    { keep: ['app'], policy: { maxAgeMs: minute } },
  );
  node.it.space = full;
  await started(node);
  await node.clock.advance(5 * minute);
  await node.gc.deleteUnusedImages(signal);
  expect(node.removed).toEqual(['b']);
});

test('below the threshold nothing is removed; over it the least recently used until the goal is met', async () => {
  const node = aNode({ a: { size: 100 }, b: { size: 100 }, c: { size: 100 } });
  node.containers.set('1', 'a').set('2', 'b').set('3', 'c');
  await started(node);
  node.containers.delete('2');
  await node.clock.advance(5 * minute);
  node.containers.clear();
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual([]);
  // 150 bytes are to be freed.
  node.it.space = full;
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual(['b', 'a']);
  expect(node.counted).toEqual(['space', 'space']);
  expect(node.events).toEqual([]);
});

test('used at the same time: the image that is known for longer goes first', async () => {
  const node = aNode({ a: { size: 1024 } });
  node.containers.set('1', 'a');
  await started(node);
  node.it.present = node.present.set('b', { size: 2048 });
  node.containers.set('2', 'b');
  await node.clock.advance(5 * minute);
  node.containers.clear();
  node.it.space = full;
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual(['a']);
});

test('not enough freed: an event now, and ImageGCFailed from the second time in a row', async () => {
  const gib = 1024 ** 3;
  const node = aNode({ a: { size: 500 * 1024 ** 2 } });
  node.it.space = { capacityBytes: 10 * gib, availableBytes: gib / 2 };
  await started(node);
  const message = (freed: number): string =>
    `Insufficient free disk space on the node's image filesystem (95% of 10.0 GiB used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
  const failed = { type: 'Warning', reason: 'FreeDiskSpaceFailed' };
  expect(node.events).toEqual([{ ...failed, message: message(524_288_000) }]);
  await node.clock.advance(5 * minute);
  expect(node.events.slice(1)).toEqual([
    { ...failed, message: message(0) },
    { type: 'Warning', reason: 'ImageGCFailed', message: message(0) },
  ]);
  // A success resets the count.
  node.it.space = { capacityBytes: 1000, availableBytes: 900 };
  await node.clock.advance(5 * minute);
  node.it.space = { capacityBytes: 10 * gib, availableBytes: gib / 2 };
  await node.clock.advance(5 * minute);
  expect(node.events.slice(3).map(({ reason }) => reason)).toEqual(['FreeDiskSpaceFailed']);
});

test.each<[string, { capacityBytes: number; availableBytes: number } | undefined]>([
  ['has no capacity', { capacityBytes: 0, availableBytes: 10 }],
  ['is not named by the runtime', undefined],
])('an image file system that %s', async (_, space) => {
  const node = aNode({ a: {} });
  node.it.space = space;
  await started(node);
  const message = 'invalid capacity 0 on image filesystem';
  expect(node.events).toEqual([{ type: 'Warning', reason: 'InvalidDiskCapacity', message }]);
  expect(node.removed).toEqual([]);
});

test('an image file system that cannot be measured is an event from the second time on', async () => {
  const node = aNode(
    { a: {} },
    { fs: { imageFs: () => Promise.reject(new Error('imageFs information is unavailable')) } },
  );
  await started(node);
  expect(node.events).toEqual([]);
  await node.clock.advance(5 * minute);
  const message = 'imageFs information is unavailable';
  expect(node.events).toEqual([{ type: 'Warning', reason: 'ImageGCFailed', message }]);
});

test('images unused for longer than the maximum age go, whatever the disk usage', async () => {
  const node = aNode({ a: {}, b: {} }, { policy: { maxAgeMs: 7 * minute } });
  node.containers.set('1', 'b');
  await started(node);
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual([]);
  node.containers.clear();
  node.present.set('new', {});
  await node.clock.advance(5 * minute);
  // Used until five minutes ago, and just pulled, respectively.
  expect(node.removed).toEqual(['a']);
  expect(node.counted).toEqual(['age']);
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual(['a', 'b']);
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual(['a', 'b', 'new']);
});

test('an image that went for its age counts neither twice nor as freed for disk usage', async () => {
  const node = aNode({ a: { size: 100 }, b: { size: 100 } }, { policy: { maxAgeMs: 4 * minute } });
  await started(node);
  node.present.set('c', { size: 100 });
  node.it.space = full;
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual(['a', 'b', 'c']);
  expect(node.counted).toEqual(['age', 'age', 'space']);
  expect(node.events[0]?.message).toContain('(freed 100 bytes)');
});

test('an image that a pod wants is used as long as the pod waits for it', async () => {
  const node = aNode({ a: { tag: 'docker.io/library/app:1' } }, { policy: { maxAgeMs: 8 * minute } });
  node.pods.push(aPod({ containers: [aContainer({ image: 'app:1' })] }));
  await started(node);
  await node.clock.advance(20 * minute);
  node.pods.length = 0;
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual([]);
  await node.clock.advance(5 * minute);
  expect(node.removed).toEqual(['a']);
});

test('a step of the clock ages no image', async () => {
  const node = aNode({ a: {} }, { policy: { maxAgeMs: 60 * minute } });
  await started(node);
  node.clock.stepWall(1_000 * 60 * minute);
  await node.clock.advance(10 * minute);
  expect(node.removed).toEqual([]);
});

test('with a threshold of 100 and no maximum age only eviction removes images, with their ages known', async () => {
  const node = aNode({ a: {} }, { policy: { highThresholdPercent: 100, minAgeMs: 9 * minute } });
  node.it.space = { capacityBytes: 1000, availableBytes: 0 };
  await started(node);
  await node.clock.advance(10 * minute);
  expect([node.removed, node.events]).toEqual([[], []]);
  expect(await node.gc.deleteUnusedImages(signal)).toBe(1024);
});

test('images that containers mount as volumes are in use; a container that is gone meanwhile is no failure', async () => {
  const { containers, gc, it, mounts } = aNode({ a: {}, b: {}, c: {} });
  containers.set('1', 'a').set('2', 'a');
  mounts.set('1', 'b');
  // Listed, but gone when it is inspected.
  containers.has = (id) => id !== '2';
  await gc.deleteUnusedImages(signal);
  expect(it.removed).toEqual(['c']);
});

test('the mounts of inspected containers are known without a call', async () => {
  const { containers, gc, it, observed } = aNode({ a: {}, b: {}, c: {} });
  containers.set('1', 'a');
  const container = { id: '1', imageMounts: ['b'] } as unknown as ObservedPod['containers'][number];
  observed.set('u', { containers: [container] } as unknown as ObservedPod);
  await gc.deleteUnusedImages(signal);
  expect([it.removed, it.statusCalls]).toEqual([['c'], 0]);
});

test('an image that a pod is about to run is in use, also if the pod arrives during the run', async () => {
  const tags = ['one', 'two', 'three'].map(
    (name) => [name, { tag: `docker.io/library/${name}:latest` }] as const,
  );
  const { gc, it, pods } = aNode(Object.fromEntries(tags));
  pods.push(aPod({ containers: [aContainer({ image: 'one' })] }));
  it.onRemove = async () => void pods.push(aPod({ volumes: [{ name: 'v', image: { reference: 'three' } }] }));
  await gc.deleteUnusedImages(signal);
  expect(it.removed).toEqual(['two']);
});

test('with the gate, an image counts once per runtime handler', async () => {
  const { gc, it } = aNode(
    { 'a,kata': { handler: 'kata' }, 'a,runc': { handler: 'runc' }, '': {} },
    {
      byHandler: true,
      runtime: {
        listContainers: async () => ({
          containers: [Container.fromPartial({ id: '1', imageId: 'a', image: { runtimeHandler: 'kata' } })],
        }),
        containerStatus: async () => ContainerStatusResponse.fromPartial({}),
      },
    },
  );
  await gc.deleteUnusedImages(signal);
  expect(it.removed).toEqual(['a,runc']);
  const message = 'ImageID is not valid, skipping, image: ';
  expect(it.events).toEqual([{ type: 'Warning', reason: 'InvalidImageID', message }]);
});

test('a removal that fails or hangs does not keep the others from being removed', async () => {
  const node = aNode({ a: { size: 10 }, b: { size: 10 }, c: { size: 10 } });
  node.it.onRemove = async (id) => {
    if (id === 'a') throw new KubeletError('internal', 'UNKNOWN', 'device or resource busy');
    if (id === 'b') await new Promise(() => undefined);
  };
  node.it.space = full;
  await started(node);
  await node.clock.advance(2 * minute);
  expect(node.removed).toEqual(['c']);
  await node.clock.advance(7 * minute);
  expect(node.events.filter(({ reason }) => reason === 'ImageGCFailed')).toEqual([
    {
      type: 'Warning',
      reason: 'ImageGCFailed',
      message:
        'wanted to free 150 bytes, but freed 0 bytes space with errors in image deletion: [device or resource busy, remove image b did not finish within 120000 ms]',
    },
  ]);
});

test('a runtime that answers no removal is given up after three of them', async () => {
  const node = aNode(Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((id) => [id, {}])));
  const tried: string[] = [];
  node.it.onRemove = async (id) => {
    tried.push(id);
    await new Promise(() => undefined);
  };
  expect(await node.clock.until(node.gc.deleteUnusedImages(signal))).toBe(0);
  expect(tried).toEqual(['a', 'b', 'c']);
});

test('runs never overlap, and a caller that gives up does not wait', async () => {
  const node = aNode({ a: {}, b: {} });
  let running = 0;
  let most = 0;
  node.it.onRemove = async () => {
    running += 1;
    most = Math.max(most, running);
    await node.clock.sleep(1_000);
    running -= 1;
  };
  const abort = new AbortController();
  const first = node.gc.deleteUnusedImages(signal);
  const second = node.gc.deleteUnusedImages(signal);
  const third = node.gc.deleteUnusedImages(abort.signal);
  abort.abort(new Aborted('no longer needed'));
  await expect(third).rejects.toThrow('no longer needed');
  node.it.space = full;
  await started(node);
  expect(await node.clock.until(Promise.all([first, second]))).toEqual([2048, 0]);
  expect(most).toBe(1);
});

test('pull records are pruned against every image on the node, after any kind of run', async () => {
  const node = aNode(
    { a: {}, used: { tag: 'docker.io/library/used:1' }, pinned: { pinned: true }, other: {} },
    { policy: { maxAgeMs: 8 * minute } },
  );
  node.containers.set('1', 'used');
  await started(node);
  const atStart = node.clock.now();
  const all = ['a', 'docker.io/library/used:1', 'other', 'pinned', 'used'];
  expect(node.pruned).toEqual([[all, atStart]]);
  await node.clock.advance(5 * minute);
  // Nothing went.
  expect(node.pruned).toHaveLength(1);
  await node.clock.advance(5 * minute);
  // By age.
  expect(node.removed).toEqual(['a', 'other']);
  expect(node.pruned.slice(1)).toEqual([
    [['docker.io/library/used:1', 'pinned', 'used'], atStart + 10 * minute],
  ]);
  node.present.set('late', {});
  await node.clock.advance(5 * minute);
  await node.gc.deleteUnusedImages(signal);
  expect(node.pruned[2]?.[0]).toEqual(['docker.io/library/used:1', 'pinned', 'used']);
});

test('records of images whose removal failed stay, and a clock that steps back prunes nothing newer', async () => {
  const node = aNode({ a: {}, b: {} });
  node.it.onRemove = async (id) => {
    node.clock.stepWall(-60 * minute);
    if (id === 'a') throw new Error('busy');
  };
  const beganMs = node.clock.now();
  await node.gc.deleteUnusedImages(signal);
  expect(node.pruned).toEqual([[['a'], beganMs - 120 * minute]]);
});

test('a runtime that does not answer fails the run, and nothing is pruned or removed', async () => {
  const listImages = () => new Promise<never>(() => undefined);
  const node = aNode({}, { images: { listImages, removeImage: async () => ({}) } });
  await started(node);
  await node.clock.advance(10 * minute);
  expect(node.events.map(({ message }) => message)).toEqual(['list images did not finish within 20000 ms']);
  expect([node.pruned, node.removed]).toEqual([[], []]);
});

test('a hung disk of pull records delays the next run by ten seconds at most', async () => {
  const prune = () => new Promise<never>(() => undefined);
  const node = aNode({ a: {} }, { history: { prune } });
  await started(node);
  const freed = node.gc.deleteUnusedImages(signal);
  await node.clock.advance(20_000);
  expect([await freed, node.removed]).toEqual([1024, ['a']]);
});
