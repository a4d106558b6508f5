// Image garbage collection on a whole kubelet: what uses an image, pull records, events, metrics, eviction's share of faults.
import { afterEach, expect, test } from 'vitest';
import { Duration } from '../../../src/config/duration.ts';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { rpcError } from '../../fake-cri/rpc-error.ts';
import { fakeSpace } from '../../fakes/fake-stats-edge.ts';
import { FakeNode, type FakeNodeOptions } from '../../simulate/fake-node.ts';

const minute = 60_000;
/** 15 MB are to be freed. */
const full = { ...fakeSpace, capacityBytes: 100_000_000, availableBytes: 5_000_000 };

let node: FakeNode;
afterEach(async () => await node.stop());

async function start(options: FakeNodeOptions = {}): Promise<void> {
  node = new FakeNode(options);
  await node.start();
}

const names = async (): Promise<readonly string[]> => {
  const { images } = await node.cri.listImages({});
  return images.flatMap(({ repoTags }) => repoTags).toSorted();
};

const nodeEvents = (): readonly string[] =>
  node
    .events('n')
    .filter(({ reason }) => /Disk|GC/.test(reason))
    .map(({ message, reason, type }) => `${type} ${reason} ${message}`);

const counted = async (): Promise<readonly string[]> => {
  const text = await bodyText(await node.request(httpRequest('GET /metrics')));
  return text.split('\n').filter((line) => line.startsWith('kubelet_image_garbage_collected_total'));
};

const records = (): readonly string[] =>
  [...node.records.entries()]
    .filter(([path]) => path.includes('/image_manager/pulled/'))
    .map(([, text]) => text);

test('a full disk: unused images go, those of running, exited and starting containers and of volumes stay', async () => {
  await start();
  for (const name of ['unused', 'running', 'done', 'volume', 'slow']) {
    node.cri.publishImage({ name: `example.com/${name}:1`, sizeBytes: 14_000_000 });
  }
  node.cri.addImage({ name: 'registry.k8s.io/pause:3.10', pinned: true });
  const volumes = [{ name: 'i', image: { reference: 'example.com/volume:1' } }];
  const running = aContainer({
    image: 'example.com/running:1',
    volumeMounts: [{ name: 'i', mountPath: '/i' }],
  });
  node.write('running.yaml', aPod({ name: 'running', containers: [running], volumes }));
  const done = aContainer({ image: 'example.com/done:1', command: ['true'] });
  node.write('done.yaml', aPod({ name: 'done', containers: [done], restartPolicy: 'Never' }));
  node.write(
    'unused.yaml',
    aPod({ name: 'unused', containers: [aContainer({ image: 'example.com/unused:1' })] }),
  );
  await node.clock.advance(10_000);
  node.remove('unused.yaml');
  await node.clock.advance(6 * minute);
  expect(records()).toHaveLength(4);
  // The image is present, and its container not created yet.
  const stall = node.cri.faults.stall('runPodSandbox');
  node.cri.addImage({ name: 'example.com/slow:1', sizeBytes: 14_000_000 });
  node.write('slow.yaml', aPod({ name: 'slow', containers: [aContainer({ image: 'example.com/slow:1' })] }));
  node.space = full;
  await node.clock.advance(5 * minute);
  expect(await names()).toEqual([
    'example.com/done:1',
    'example.com/running:1',
    'example.com/slow:1',
    'example.com/volume:1',
    'registry.k8s.io/pause:3.10',
  ]);
  expect(records()).toHaveLength(3);
  expect(records().some((text) => text.includes('unused'))).toBe(false);
  expect(await counted()).toEqual(['kubelet_image_garbage_collected_total{reason="space"} 2']);
  expect(nodeEvents()).toEqual([]);
  stall.release();
  await node.clock.advance(10_000);
  expect(node.status('uid-slow')?.phase).toBe('Running');
});

const insufficient = (freed: number): string =>
  `Insufficient free disk space on the node's image filesystem (95% of 95.4 MiB used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;

test('nothing left to remove: events of the node, and none once the disk has space again', async () => {
  await start({ flags: { imageGcKeep: ['example.com/tools/*'] } });
  node.cri.addImage({ name: 'example.com/tools/debug:1', sizeBytes: 50_000_000 });
  await node.clock.advance(1_000);
  node.space = full;
  await node.clock.advance(5 * minute);
  expect(nodeEvents()).toEqual([`Warning FreeDiskSpaceFailed ${insufficient(2_131_572)}`]);
  await node.clock.advance(5 * minute);
  expect(nodeEvents().slice(1)).toEqual([
    `Warning FreeDiskSpaceFailed ${insufficient(0)}`,
    `Warning ImageGCFailed ${insufficient(0)}`,
  ]);
  expect(await names()).toEqual(['example.com/tools/debug:1']);
  node.space = fakeSpace;
  await node.clock.advance(20 * minute);
  expect(nodeEvents()).toHaveLength(3);
});

test('a kubelet that restarts on a full disk removes nothing before the minimum age', async () => {
  await start({
    config: { imageMinimumGCAge: Duration.ofMs(7 * minute), imageMaximumGCAge: Duration.ofMs(12 * minute) },
  });
  await node.clock.advance(6 * minute);
  await node.kill();
  node.space = full;
  await node.start();
  await node.clock.advance(6 * minute);
  expect(await names()).toEqual(['docker.io/library/busybox:1']);
  await node.clock.advance(5 * minute);
  expect(await names()).toEqual([]);
});

test('the maximum age counts from the start of the kubelet, and from the last use', async () => {
  await start({ config: { imageMaximumGCAge: Duration.ofMs(12 * minute) } });
  await node.clock.advance(6 * minute);
  await node.kill();
  await node.start();
  await node.clock.advance(11 * minute);
  expect(await names()).toEqual(['docker.io/library/busybox:1']);
  await node.clock.advance(5 * minute);
  expect(await names()).toEqual([]);
  expect(await counted()).toEqual(['kubelet_image_garbage_collected_total{reason="age"} 1']);
});

test('an image that vanishes while its container is created is pulled again', async () => {
  await start();
  node.cri.publishImage({ name: 'example.com/app:1' });
  node.cri.faults.fail('createContainer', rpcError('NOT_FOUND', 'image example.com/app:1 not found'));
  node.write('p.yaml', aPod({ containers: [aContainer({ image: 'example.com/app:1' })] }));
  await node.clock.advance(1_000);
  await node.cri.removeImage({ image: { image: 'example.com/app:1' } });
  await node.clock.advance(60_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
});

test('an image that cannot be removed does not keep the others from being removed, and is tried again', async () => {
  await start();
  node.cri.addImage({ name: 'example.com/large:1', sizeBytes: 15_000_000 });
  await node.clock.advance(6 * minute);
  node.space = full;
  node.cri.faults.fail('removeImage', rpcError('UNKNOWN', 'device or resource busy'));
  await node.clock.advance(5 * minute);
  expect(await names()).toEqual(['docker.io/library/busybox:1']);
  expect(nodeEvents()).toEqual([]);
  expect(node.logged('Image garbage collection failed once')[0]).toContain(
    'wanted to free 15000000 bytes, but freed 15000000 bytes space with errors in image deletion: device or resource busy',
  );
  await node.clock.advance(5 * minute);
  expect(await names()).toEqual([]);
});
