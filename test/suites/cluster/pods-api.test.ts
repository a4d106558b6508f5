// The Pods API of a whole kubelet: what local clients see of a pod's life. On the fake clock; its socket is edge/grpc-server's.
import { expect, onTestFinished, test } from 'vitest';
import {
  ListPodsResponse,
  type PodsDefinition,
} from '../../../src/api/kubelet/generated/pods/v1alpha1/api.ts';
import { type EncodedMessage, RpcFailure, type RpcHandlers } from '../../../src/api/kubelet/rpc-service.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { eventLine, readPod } from '../../clients/pods-client.ts';
import { startCluster } from '../../simulate/cluster-world.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const socket = '/var/lib/kubelet/pods-api/pods-api.sock';

function handlersOf(node: FakeNode): RpcHandlers<typeof PodsDefinition> {
  const handlers = node.grpcHandlers(socket, 'v1alpha1.Pods');
  if (handlers === undefined) throw new Error('the Pods API is not served');
  return handlers as unknown as RpcHandlers<typeof PodsDefinition>;
}

const bytesOf = (message: unknown): Buffer => Buffer.concat((message as EncodedMessage).pieces);

/** The events so far, as lines. */
function watch(node: FakeNode): string[] {
  const abort = new AbortController();
  onTestFinished(() => abort.abort(new RpcFailure('CANCELLED', 'context canceled')));
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const event of handlersOf(node).watchPods({}, { signal: abort.signal }))
      lines.push(eventLine(bytesOf(event)));
  };
  read().catch((err: unknown) => lines.push(String(err)));
  return lines;
}

async function list(node: FakeNode): Promise<readonly string[]> {
  const message = await handlersOf(node).listPods({}, { signal: new AbortController().signal });
  const pods = ListPodsResponse.decode(bytesOf(message)).pods.map(readPod);
  return pods.map(({ name, phase, ready }) => `${name} ${phase} ${ready}`.trim());
}

test('a watcher follows a pod from its assignment to the end of its clean-up, and sees nothing after that', async () => {
  const world = await startCluster();
  const events = watch(world.node);
  world.run('web', { terminationGracePeriodSeconds: 5 });
  await world.advance(5_000);
  expect(events.slice(0, 2)).toEqual(['INITIAL_SYNC_COMPLETE', 'ADDED web Pending']);
  expect(events.at(-1)).toBe('MODIFIED web Running Ready=True');
  expect(await list(world.node)).toEqual(['web Running True']);

  world.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } }));
  const before = events.length;
  await world.advance(1_000);
  expect(events.slice(before)).toEqual(['MODIFIED web Running Ready=True']);

  world.delete('web');
  await world.advance(40_000);
  expect(world.pod('web')).toBeUndefined();
  expect(events.at(-1)).toBe('DELETED web');
  const kinds = events.slice(1).map((line) => line.split(' ')[0]);
  expect(kinds.filter((kind) => kind !== 'MODIFIED')).toEqual(['ADDED', 'DELETED']);
  expect(await list(world.node)).toEqual([]);
});

test('a static pod is deleted for watchers only after its containers have stopped', async () => {
  const node = new FakeNode();
  onTestFinished(() => node.stop());
  const stubborn = aContainer({ command: ['sh', '-c', "trap '' TERM; sleep 1000"] });
  node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 20, containers: [stubborn] }));
  await node.start();
  await node.clock.advance(3_000);
  const events = watch(node);
  await node.clock.advance(0);
  expect(events).toEqual(['ADDED p-n Running Ready=True', 'INITIAL_SYNC_COMPLETE']);
  node.remove('p.yaml');
  await node.clock.advance(10_000);
  // As upstream, the list has only pods that a source has.
  expect([await list(node), events.filter((line) => line.startsWith('DELETED'))]).toEqual([[], []]);
  await node.clock.advance(20_000);
  expect(events.at(-1)).toBe('DELETED p-n');
});

test('a completed pod is deleted for watchers and stays in the list', async () => {
  const world = await startCluster();
  const events = watch(world.node);
  world.run('job', { restartPolicy: 'Never', containers: [aContainer({ command: ['sh', '-c', 'exit 0'] })] });
  await world.advance(10_000);
  expect(events.at(-1)).toBe('DELETED job');
  expect(await list(world.node)).toEqual(['job Succeeded False']);
  const late = watch(world.node);
  await world.advance(100);
  expect(late).toEqual(['ADDED job Succeeded Ready=False', 'INITIAL_SYNC_COMPLETE']);
  world.delete('job');
  await world.advance(40_000);
  expect(late.at(-1)).toBe('DELETED job');
});

test('after a restart of the kubelet clients wait for the sources, and no unverified readiness is shown', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(5_000);
  expect(await list(world.node)).toEqual(['web Running True']);
  await world.node.stop();
  expect(() => handlersOf(world.node)).toThrow('not served');
  const seen = new Set<string>();
  await world.node.start();
  for (let at = 0; at < 50; at++) {
    // Below the rate limit.
    await world.advance(50);
    seen.add(await list(world.node).then((lines) => lines.join(), String));
  }
  expect([...seen].at(-1)).toBe('web Running True');
  expect(
    [...seen].every((each) => /^(RpcFailure: Kubelet is initializing|web Running (True|False))$/.test(each)),
  ).toBe(true);
});

test('without the gate nothing is served', async () => {
  const world = await startCluster({ gates: { PodsAPI: false } });
  expect(world.node.grpcHandlers(socket, 'v1alpha1.Pods')).toBeUndefined();
});
