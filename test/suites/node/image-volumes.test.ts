// Image volumes on a whole kubelet: pulls, events and statuses as recorded from the Go kubelet 1.37.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Volume } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { rpcError } from '../../fake-cri/rpc-error.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const at = 'spec.containers{c}';
const files = 'example.com/files:1';
const busybox = 'docker.io/library/busybox:1';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const events = (): readonly string[] =>
  node
    .events('uid-p')
    .map(({ fieldPath, message, reason, type }) => `${type} ${reason} ${fieldPath} ${message}`);

const imageVolume = (reference: string, pullPolicy = 'IfNotPresent', name = 'i'): Volume => ({
  name,
  image: { reference, pullPolicy },
});

const mounts = (subPath?: string) => ({
  volumeMounts: [{ name: 'i', mountPath: '/img', ...(subPath === undefined ? {} : { subPath }) }],
});

function waiting(name = 'c'): unknown {
  return node.status('uid-p')?.containerStatuses?.find((each) => each.name === name)?.state?.waiting;
}

const created = (): readonly unknown[] =>
  node.cri.calls.filter(({ method }) => method === 'CreateContainer').map(({ request }) => request);

test('a present image is mounted read-only, with the annotations of the pod and its subPath', async () => {
  const id = node.cri.addImage({ name: files });
  const pod = aPod({ containers: [aContainer(mounts('models'))], volumes: [imageVolume(files)] });
  pod.metadata = { ...pod.metadata, annotations: { team: 'x' } };
  node.write('p.yaml', pod);
  await node.clock.advance(2_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
  const [request] = created() as readonly { readonly config: { readonly mounts: readonly object[] } }[];
  expect(request?.config.mounts[0]).toMatchObject({
    containerPath: '/img',
    hostPath: '',
    readonly: true,
    image: { image: id, userSpecifiedImage: files, annotations: { team: 'x' } },
    imageSubPath: 'models',
  });
  const present = 'already present on machine and can be accessed by the pod';
  expect(events().slice(0, 2)).toEqual([
    `Normal Pulled undefined Container image "${files}" ${present}`,
    `Normal Pulled ${at} Container image "${busybox}" ${present}`,
  ]);
});

test('an image is pulled once for a pod, before its containers, also if no container mounts it', async () => {
  node.cri.publishImage({ name: files, sizeBytes: 5 });
  node.cri.publishImage({ name: 'example.com/unused:1', sizeBytes: 5 });
  const volumes = [imageVolume(files), imageVolume('example.com/unused:1', 'Always', 'unused')];
  const containers = [aContainer(mounts()), aContainer({ name: 'second', ...mounts() })];
  node.write('p.yaml', aPod({ containers, volumes }));
  await node.clock.advance(5_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
  const pulled = node.cri.calls.filter(({ method }) => method === 'PullImage');
  expect(pulled).toHaveLength(2);
  expect(pulled[0]?.request).toMatchObject({
    sandboxConfig: { metadata: { name: expect.stringContaining('p') } },
  });
  expect(events().findIndex((line) => line.includes(`Pulling image "${files}"`))).toBeLessThan(
    events().findIndex((line) => line.includes('Created')),
  );
});

test('a missing image is a waiting reason of the containers that mount it, and of no other', async () => {
  const absent = 'example.com/absent:1';
  const containers = [aContainer(mounts()), aContainer({ name: 'free' })];
  node.write('p.yaml', aPod({ containers, volumes: [imageVolume(absent)] }));
  await node.clock.advance(1_000);
  expect(waiting()).toMatchObject({ reason: 'ErrImagePull', message: expect.stringContaining(absent) });
  expect(waiting('free')).toBeUndefined();
  await node.clock.advance(5_000);
  expect(waiting()).toMatchObject({
    reason: 'ImagePullBackOff',
    message: expect.stringContaining(`Back-off pulling image "${absent}": ErrImagePull: `),
  });
  const reported = events().filter((line) => line.startsWith('Warning') || line.includes('BackOff'));
  expect(reported).toEqual([
    `Warning Failed undefined Failed to pull image "${absent}": rpc error: code = NotFound desc = failed to pull and unpack image "${absent}": failed to resolve reference "${absent}": ${absent}: not found`,
    `Warning Failed ${at} Error: ErrImagePull`,
    `Normal BackOff undefined Back-off pulling image "${absent}"`,
    `Warning Failed ${at} Error: ImagePullBackOff`,
  ]);
});

test('a container starts when the image that it waits for appears, at the end of the backoff', async () => {
  node.write('p.yaml', aPod({ containers: [aContainer(mounts())], volumes: [imageVolume(files)] }));
  await node.clock.advance(5_000);
  expect(waiting()).toMatchObject({ reason: 'ImagePullBackOff' });
  node.cri.publishImage({ name: files });
  await node.clock.advance(8_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
});

test('an image with pull policy Never that is missing', async () => {
  const volumes = [imageVolume(files, 'Never')];
  node.write('p.yaml', aPod({ containers: [aContainer(mounts())], volumes }));
  await node.clock.advance(1_000);
  const message = `Container image "${files}" is not present with pull policy of Never`;
  expect(waiting()).toEqual({ reason: 'ErrImageNeverPull', message });
  expect(events()).toEqual(
    expect.arrayContaining([
      `Warning ErrImageNeverPull undefined ${message}`,
      `Warning Failed ${at} Error: ErrImageNeverPull`,
    ]),
  );
});

test('a runtime without image volumes is named', async () => {
  node.cri.addImage({ name: files });
  const failed = 'failed to generate container spec: failed to mkdir "": mkdir : no such file or directory';
  node.cri.faults.fail('createContainer', rpcError('UNKNOWN', failed), { times: 100 });
  node.write('p.yaml', aPod({ containers: [aContainer(mounts())], volumes: [imageVolume(files)] }));
  await node.clock.advance(1_000);
  expect(waiting()).toEqual({
    reason: 'CreateContainerError',
    message: `image volumes need containerd 2.1, the container runtime is containerd 1.6.20: ${failed}`,
  });
});
