// Events and statuses about images on a whole kubelet, equal to the recordings of the Go kubelet.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakePodObjects } from '../../fakes/fake-pod-objects.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

/** Image events as `Type reason fieldPath message`, without those of the container's start. */
const imageEvents = (uid: string): readonly string[] =>
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
    [
      `Normal Pulled ${at} Container image "docker.io/library/busybox:1" already present on machine and can be accessed by the pod`,
    ],
  ],
  [
    'missing, with pull policy Never',
    'docker.io/library/absent:1',
    'Never',
    [
      `Warning ErrImageNeverPull ${at} Container image "docker.io/library/absent:1" is not present with pull policy of Never`,
      `Warning Failed ${at} Error: ErrImageNeverPull`,
    ],
  ],
  [
    'not found in its registry',
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
])('reports an image that is %s', async (_, image, imagePullPolicy, want) => {
  node.write('p.yaml', aPod({ containers: [aContainer({ image, imagePullPolicy })] }));
  await node.clock.advance(5_000);
  expect(new Set(imageEvents('uid-p'))).toEqual(new Set(want));
});

test('an image is pulled once for three pods, reported for each, and with the annotations of the pod', async () => {
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
    expect(imageEvents(uid)).toEqual([
      `Normal Pulling ${at} Pulling image "example.com/app:1"`,
      expect.stringMatching(
        /Successfully pulled image "example.com\/app:1" in 3s \(3s including waiting\)\. Image size: 1000 bytes\.$/,
      ),
    ]);
  }
});

test('the node’s credentials are sent with the pull, and appear nowhere else', async () => {
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

test('a missing pull secret is reported if the pull fails, and is not needed for a preloaded image', async () => {
  const missing =
    'Unable to retrieve some image pull secrets (missing); attempting to pull the image may not succeed.';
  const imagePullSecrets = [{ name: 'missing' }];
  const containers = [aContainer({ image: 'example.com/absent:1' })];
  node.setApiPods(aPod({ imagePullSecrets }), aPod({ name: 'q', imagePullSecrets, containers }));
  await node.clock.advance(5_000);
  expect(node.status('uid-p')?.phase).toBe('Running');
  expect(node.events('uid-p').map(({ message }) => message)).not.toContain(missing);
  expect(node.events('uid-q').map(({ message }) => message)).toContain(missing);
});

/** A node that verifies pull credentials, and a registry that accepts only the user ann. */
async function guarded(): Promise<FakeNode> {
  const objects = new FakePodObjects();
  const entry = { auths: { 'example.com': { username: 'ann', password: 'pass-word' } } };
  const data = { '.dockerconfigjson': Buffer.from(JSON.stringify(entry)).toString('base64') };
  for (const name of ['mine', 'copy']) {
    const metadata = { name, namespace: 'default', uid: `uid-${name}` };
    objects.secrets.set(name, { type: 'kubernetes.io/dockerconfigjson', data, metadata });
  }
  const one = new FakeNode({
    objects,
  });
  one.cri.publishImage({ name: 'example.com/app:1' });
  one.cri.faults.fail('pullImage', new KubeletError('internal', 'UNKNOWN', '401 Unauthorized'), {
    times: Number.POSITIVE_INFINITY,
    match: ({ auth }) => auth?.username !== 'ann',
  });
  await one.start();
  return one;
}
const wants = (name: string, ...secrets: readonly string[]): ReturnType<typeof aPod> =>
  aPod({
    name,
    containers: [aContainer({ image: 'example.com/app:1' })],
    imagePullSecrets: secrets.map((secret) => ({ name: secret })),
  });
const pullsOf = (one: FakeNode): number =>
  one.cri.calls.filter(({ method }) => method === 'PullImage').length;

test('an image pulled with a secret is available only to pods with that secret, also after a restart', async () => {
  await node.stop();
  node = await guarded();
  node.setApiPods(wants('owner', 'mine'));
  await node.clock.advance(5_000);
  expect([node.status('uid-owner')?.phase, pullsOf(node)]).toEqual(['Running', 1]);
  expect([...node.records.keys()].map((path) => path.split('/').at(-2))).toEqual(['pulled']);
  await node.kill();
  await node.start();
  node.setApiPods(wants('owner', 'mine'), wants('again', 'copy'));
  await node.clock.advance(5_000);
  expect([node.status('uid-again')?.phase, pullsOf(node)]).toEqual(['Running', 1]);
  node.write('thief.yaml', wants('thief'));
  await node.clock.advance(1_000);
  expect(node.status('uid-thief')?.containerStatuses?.[0]?.state?.waiting).toEqual({
    reason: 'ErrImagePull',
    message: '401 Unauthorized',
  });
  expect([...node.records.values()].join('')).not.toContain('pass-word');
});

test('a pod without the secret does not get the image of a pull that a killed kubelet began', async () => {
  await node.stop();
  node = await guarded();
  node.cri.faults.latency('pullImage', 30_000);
  node.setApiPods(wants('owner', 'mine'));
  await node.clock.advance(5_000);
  expect([...node.records.keys()].map((path) => path.split('/').at(-2))).toEqual(['pulling']);
  const onDisk = [...node.records];
  await node.kill();
  // The killed kubelet's code still runs in memory; drops what it wrote.
  node.records.clear();
  for (const [path, text] of onDisk) node.records.set(path, text);
  // The runtime completes the pull.
  node.cri.faults.latency('pullImage', 0);
  await node.cri.pullImage({ image: { image: 'example.com/app:1' }, auth: { username: 'ann' } });
  node.write('thief.yaml', wants('thief'));
  await node.start();
  await node.clock.advance(1_000);
  expect(node.status('uid-thief')?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ErrImagePull');
  expect([...node.records.keys()].map((path) => path.split('/').at(-2))).toEqual(['pulled']);
});
