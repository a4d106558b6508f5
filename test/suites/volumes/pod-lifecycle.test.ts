// Volumes in the lifecycle of a pod, on the fake clock: before the container, while it runs, after it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const pods = '/var/lib/kubelet/pods';
const cache = `${pods}/uid-p/volumes/kubernetes.io~empty-dir/cache`;
const mounting = aContainer({
  volumeMounts: [
    { name: 'cache', mountPath: '/cache' },
    { name: 'cache', mountPath: '/part', subPath: 'a/b' },
    { name: 'info', mountPath: '/info' },
    { name: 'host', mountPath: 'etc', readOnly: true, mountPropagation: 'HostToContainer' },
  ],
});
const withVolumes = aPod({
  labels: { app: 'web' },
  terminationGracePeriodSeconds: 2,
  volumes: [
    { name: 'cache', emptyDir: {} },
    {
      name: 'info',
      downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
    },
    { name: 'host', hostPath: { path: '/etc' } },
    { name: 'unused', emptyDir: { medium: 'Memory' } },
  ],
  containers: [mounting],
});

test('volumes are mounted before the container is created, and unmounted after its end', async () => {
  node.write('p.yaml', withVolumes);
  await node.clock.advance(50);
  expect(node.status('uid-p')?.phase).toBe('Running');
  const create = node.cri.calls.find(({ method }) => method === 'CreateContainer')?.request;
  expect(create).toMatchObject({
    config: {
      mounts: expect.arrayContaining([
        expect.objectContaining({ containerPath: '/cache', hostPath: cache, readonly: false }),
        expect.objectContaining({
          containerPath: '/part',
          hostPath: `${pods}/uid-p/volume-subpaths/cache/c/1`,
        }),
        expect.objectContaining({ containerPath: '/info', readonly: true }),
        expect.objectContaining({ containerPath: '/etc', hostPath: '/etc', readonly: true, propagation: 1 }),
      ]),
    },
  });
  expect(node.volumes.text(`${pods}/uid-p/volumes/kubernetes.io~downward-api/info`, 'labels')).toBe(
    'app="web"',
  );
  // A volume that no container mounts is not mounted.
  expect(node.volumes.mounts.map(({ path }) => path.slice(pods.length))).toEqual([
    '/uid-p/volumes/kubernetes.io~downward-api/info',
    '/uid-p/volume-subpaths/cache/c/1',
  ]);
  node.remove('p.yaml');
  await node.clock.advance(10_000);
  expect(node.volumes.mounts).toEqual([]);
  expect([...node.volumes.entries.keys()].filter((path) => path.startsWith(`${pods}/uid-p/volume`))).toEqual(
    [],
  );
  expect(node.status('uid-p')).toBeUndefined();
});

test('a volume that cannot be mounted delays only its own pod', async () => {
  node.volumes.injectFault('mountTmpfs', () =>
    Promise.reject(new KubeletError('unavailable', 'ENOMEM', 'no memory')),
  );
  node.write('p.yaml', withVolumes);
  node.write('q.yaml', aPod({ name: 'q' }));
  await node.clock.advance(2_000);
  expect(node.status('uid-p')?.phase).toBe('Pending');
  expect(node.status('uid-q')?.phase).toBe('Running');
  expect(node.logged('Failed to mount volume')[0]).toContain('volume="info"');
  node.volumes.injectFault('mountTmpfs', undefined);
  await node.clock.advance(5_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
});

test('a hung mount delays only its own pod, which can still end', async () => {
  node.volumes.injectFault('mountTmpfs', () => new Promise(() => undefined));
  node.write('p.yaml', withVolumes);
  node.write('q.yaml', aPod({ name: 'q' }));
  await node.clock.advance(2_000);
  expect(node.status('uid-q')?.phase).toBe('Running');
  node.remove('p.yaml');
  await node.clock.advance(30_000);
  expect(node.status('uid-p')).toBeUndefined();
  expect(node.stores.lifecycles.all().size).toBe(1);
});

test('a busy mount is retried, and nothing is deleted through it', async () => {
  node.write('p.yaml', withVolumes);
  await node.clock.advance(50);
  node.volumes.injectFault('unmount', () => Promise.reject(new KubeletError('conflict', 'EBUSY', 'busy')));
  node.remove('p.yaml');
  await node.clock.advance(60_000);
  expect(node.volumes.mounts).not.toEqual([]);
  expect(node.calls()).not.toContain('RemovePodSandbox');
  node.volumes.injectFault('unmount', undefined);
  await node.clock.advance(60_000);
  expect(node.volumes.mounts).toEqual([]);
  expect(node.calls()).toContain('RemovePodSandbox');
});

test('a kubelet restart mounts nothing twice and restarts no container', async () => {
  node.write('p.yaml', withVolumes);
  await node.clock.advance(50);
  const before = [...node.volumes.mounts];
  await node.kill();
  await node.start();
  await node.clock.advance(5_000);
  expect(node.volumes.mounts).toEqual(before);
  expect(node.calls().filter((method) => method === 'CreateContainer')).toHaveLength(1);
  node.remove('p.yaml');
  await node.clock.advance(10_000);
  expect(node.volumes.mounts).toEqual([]);
});
