// What a whole kubelet tells about images, as the recordings of the Go kubelet have it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aContainer, aPod } from './builders.ts';
import { FakeNode } from './fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

/** `Type reason fieldPath message`, without what belongs to the container's own start. */
const told = (uid: string): readonly string[] =>
  node
    .events(uid)
    .filter(({ reason }) => !['Created', 'Started'].includes(reason))
    .map(({ fieldPath, message, reason, type }) => `${type} ${reason} ${fieldPath} ${message}`);
const at = 'spec.containers{c}';

test.each([
  [
    'present',
    'docker.io/library/busybox:1',
    'IfNotPresent',
    [`Normal Pulled ${at} Container image "docker.io/library/busybox:1" already present on machine`],
  ],
  [
    'never to be pulled',
    'docker.io/library/absent:1',
    'Never',
    [
      `Warning ErrImageNeverPull ${at} Container image "docker.io/library/absent:1" is not present with pull policy of Never`,
      `Warning Failed ${at} Error: ErrImageNeverPull`,
    ],
  ],
  [
    'not to be had',
    '127.0.0.1:1/none/none:1',
    'IfNotPresent',
    [
      `Normal Pulling ${at} Pulling image "127.0.0.1:1/none/none:1"`,
      `Warning Failed ${at} Failed to pull image "127.0.0.1:1/none/none:1": rpc error: code = NotFound desc = failed to pull and unpack image "127.0.0.1:1/none/none:1": failed to resolve reference "127.0.0.1:1/none/none:1": 127.0.0.1:1/none/none:1: not found`,
      `Warning Failed ${at} Error: ErrImagePull`,
      `Normal BackOff ${at} Back-off pulling image "127.0.0.1:1/none/none:1"`,
      `Warning Failed ${at} Error: ImagePullBackOff`,
    ],
  ],
])('an image that is %s', async (_, image, imagePullPolicy, want) => {
  node.write('p.yaml', aPod({ containers: [aContainer({ image, imagePullPolicy })] }));
  await node.clock.advance(5_000);
  expect(new Set(told('uid-p'))).toEqual(new Set(want));
});

test('an image that comes: pulled once for three pods, told to each, and with the annotations of the pod', async () => {
  node.cri.publishImage({ name: 'example.com/app:1', sizeBytes: 1_000 });
  node.cri.faults.latency('pullImage', 3_000);
  for (const name of ['a', 'b', 'c']) {
    const containers = [aContainer({ image: 'example.com/app:1' })];
    node.write(`${name}.yaml`, aPod({ name, containers, annotations: { team: 'x' } }));
  }
  await node.clock.advance(10_000);
  const pulls = node.cri.calls.filter(({ method }) => method === 'PullImage');
  expect(pulls).toHaveLength(1);
  expect(pulls[0]?.request).toMatchObject({
    image: { image: 'example.com/app:1', annotations: { team: 'x' } },
    sandboxConfig: { metadata: { namespace: 'default' } },
  });
  for (const uid of ['uid-a', 'uid-b', 'uid-c']) {
    expect(node.status(uid)?.phase).toBe('Running');
    expect(told(uid)).toEqual([
      `Normal Pulling ${at} Pulling image "example.com/app:1"`,
      expect.stringMatching(
        /Successfully pulled image "example.com\/app:1" in 3s \(3s including waiting\)\. Image size: 1000 bytes\.$/,
      ),
    ]);
  }
});

test('the node’s own credentials go with the pull and nowhere else', async () => {
  node.cri.publishImage({ name: 'example.com/app:1' });
  node.records.set(
    '/var/lib/kubelet/config.json',
    JSON.stringify({ auths: { 'example.com': { username: 'ann', password: 'pass-word' } } }),
  );
  node.write('p.yaml', aPod({ containers: [aContainer({ image: 'example.com/app:1' })] }));
  await node.clock.advance(5_000);
  const pull = node.cri.calls.find(({ method }) => method === 'PullImage');
  expect(pull?.request).toMatchObject({ auth: { username: 'ann', password: 'pass-word' } });
  expect(node.log.join('')).not.toContain('pass-word');
  expect(JSON.stringify(node.events('uid-p'))).not.toContain('pass-word');
});

test('a pull secret that cannot be had is told, and the pod runs', async () => {
  node.write('p.yaml', aPod({ imagePullSecrets: [{ name: 'missing' }] }));
  await node.clock.advance(5_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
  expect(node.events('uid-p').map(({ message }) => message)).toContain(
    'Unable to retrieve some image pull secrets (missing); attempting to pull the image may not succeed.',
  );
});
