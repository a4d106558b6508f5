// The spans of a whole kubelet: which work is traced, with which attributes, and which CRI calls belong to it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asPodUid } from '../../../src/api/pod/pod-ref.ts';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { rpcError } from '../../fake-cri/rpc-error.ts';
import { RecordedSpans } from '../../fakes/recorded-spans.ts';
import { startCluster } from '../../simulate/cluster-world.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
let spans: RecordedSpans;

beforeEach(async () => {
  spans = new RecordedSpans();
  node = new FakeNode({ tracer: spans.tracer });
  await node.start();
});
afterEach(() => node.stop());

const kubelet = 'k8s.io/kubernetes/pkg/kubelet';

/** The names of the spans in the trace of the first span of this name. */
function inTraceOf(name: string): readonly string[] {
  const { traceId } = spans.named(name);
  return spans.ended().flatMap((span) => (span.traceId === traceId ? [span.name] : []));
}

function attributesOf(pod: ReturnType<typeof aPod>) {
  const { name, namespace, uid } = pod.metadata ?? {};
  return {
    'k8s.pod.uid': uid,
    'k8s.pod': `${namespace}/${name}`,
    'k8s.pod.name': name,
    'k8s.namespace.name': namespace,
  };
}

test('a start is a trace with the CRI calls it makes', async () => {
  const pod = aPod();
  node.setApiPods(pod);
  await node.clock.advance(5_000);
  expect(spans.named('syncPod')).toMatchObject({
    scope: kubelet,
    attributes: { ...attributesOf(pod), 'k8s.pod.update_type': 'create' },
    parentId: undefined,
    error: undefined,
  });
  expect(inTraceOf('syncPod')).toEqual(
    expect.arrayContaining(['runPodSandbox', 'createContainer', 'startContainer']),
  );
});

test('starts at the same time are traces of their own', async () => {
  node.setApiPods(...['a', 'b', 'c'].map((name) => aPod({ name, uid: `u-${name}` })));
  await node.clock.advance(5_000);
  const starts = spans.ended().filter(({ name }) => name === 'runPodSandbox');
  expect(new Set(starts.map(({ traceId }) => traceId)).size).toBe(3);
  for (const { parentId } of starts)
    expect(spans.ended().find(({ spanId }) => spanId === parentId)?.name).toBe('syncPod');
});

test('the relist belongs to no pod', async () => {
  node.setApiPods(aPod());
  await node.clock.advance(10_000);
  const syncs = new Set(spans.ended().flatMap(({ name, traceId }) => (name === 'syncPod' ? [traceId] : [])));
  const lists = spans.ended().filter(({ name }) => name === 'listPodSandbox');
  expect(lists.length).toBeGreaterThan(3);
  expect(lists.filter(({ traceId }) => syncs.has(traceId))).toEqual([]);
});

test('a failed start is an error with the message of the runtime', async () => {
  node.cri.faults.fail('runPodSandbox', rpcError('INTERNAL', 'no network today'));
  node.setApiPods(aPod());
  await node.clock.advance(5_000);
  const [first, second] = spans.ended().filter(({ name }) => name === 'syncPod');
  expect(first?.error).toContain('no network today');
  expect(second?.error).toBeUndefined();
  expect(second?.attributes['k8s.pod.update_type']).toBe('sync');
});

test('a sync is an error if it fails to start a container, but not while the container is in back-off', async () => {
  node.setApiPods(aPod({ containers: [aContainer({ image: 'docker.io/library/never:1' })] }));
  await node.clock.advance(60_000);
  const errors = spans.ended().flatMap(({ error, name }) => (name === 'syncPod' ? [error] : []));
  const failed = errors.filter((error) => error !== undefined);
  expect(failed.length).toBeGreaterThan(1);
  expect(errors).toContain(undefined);
  for (const error of failed)
    expect(error).toMatch(/^failed to "StartContainer" for ".*" with ErrImagePull: ".*not found"$/);
});

test('the end of a pod is traced up to the removal of its containers', async () => {
  const pod = aPod();
  node.setApiPods(pod);
  await node.clock.advance(5_000);
  node.setApiPods();
  await node.clock.advance(60_000);
  expect(node.stores.observed.get(asPodUid(pod.metadata?.uid ?? ''))).toBeUndefined();
  for (const name of ['syncTerminatingPod', 'syncTerminatedPod'])
    expect(spans.named(name)).toMatchObject({
      scope: kubelet,
      attributes: attributesOf(pod),
      parentId: undefined,
      error: undefined,
    });
  expect(inTraceOf('syncTerminatingPod')).toContain('stopContainer');
  expect(inTraceOf('syncTerminatedPod')).toContain('removePodSandbox');
});

test('a failed stop is an error', async () => {
  node.setApiPods(aPod());
  await node.clock.advance(5_000);
  node.cri.faults.fail('stopContainer', rpcError('INTERNAL', 'stuck'));
  node.setApiPods();
  await node.clock.advance(60_000);
  expect(spans.named('syncTerminatingPod').error).toContain('stuck');
});

test('a sync that a deletion overtakes is no error', async () => {
  node.cri.faults.stall('pullImage');
  const pod = aPod({ containers: [aContainer({ image: 'docker.io/library/never:1' })] });
  node.setApiPods(pod);
  await node.clock.advance(2_000);
  node.setApiPods();
  await node.clock.advance(5_000);
  expect(spans.named('syncPod').error).toBeUndefined();
});

test('a pass of the garbage collection contains what the workers remove for it', async () => {
  const flags = { maximumDeadContainersPerContainer: 0, maximumDeadContainers: -1 };
  const world = await startCluster({ tracer: spans.tracer, flags });
  world.run('job', {
    restartPolicy: 'Never',
    containers: [aContainer({ command: ['sh', '-c', 'exit 0'] })],
  });
  await world.advance(120_000);
  const passes = spans.ended().filter(({ name }) => name === 'Containers/GarbageCollect');
  expect(passes[0]).toMatchObject({ scope: `${kubelet}/kuberuntime`, attributes: {}, error: undefined });
  expect(passes.map(({ traceId }) => traceId)).toContain(spans.named('removeContainer').traceId);
});

test('a pass over the images is a trace', async () => {
  await node.clock.advance(5_000);
  expect(spans.named('Images/GarbageCollect')).toMatchObject({
    scope: `${kubelet}/images`,
    error: undefined,
  });
  expect(inTraceOf('Images/GarbageCollect')).toContain('listImages');
});

test('a request to the secure port is a trace with its pattern', async () => {
  await bodyText(await node.request(httpRequest('GET /pods')));
  expect(spans.named('/pods/').attributes).toMatchObject({
    'http.route': '/pods/',
    'http.response.status_code': 200,
    'server.address': 'kubelet',
  });
});
