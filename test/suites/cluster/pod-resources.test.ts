// podresources of a whole kubelet: which pods local clients see. On the fake clock; its socket is edge/grpc-server's.
import { expect, test } from 'vitest';
import {
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  type PodResourcesListerDefinition,
} from '../../../src/api/kubelet/generated/podresources/v1/api.ts';
import type { EncodedMessage, RpcHandlers } from '../../../src/api/kubelet/rpc-service.ts';
import { startCluster } from '../../simulate/cluster-world.ts';
import type { FakeNode } from '../../simulate/fake-node.ts';

const call = { signal: new AbortController().signal };

function handlersOf(node: FakeNode): RpcHandlers<typeof PodResourcesListerDefinition> {
  const handlers = node.grpcHandlers('/var/lib/kubelet/pod-resources/kubelet.sock', 'v1.PodResourcesLister');
  if (handlers === undefined) throw new Error('podresources is not served');
  return handlers as unknown as RpcHandlers<typeof PodResourcesListerDefinition>;
}

const bytesOf = (message: unknown): Buffer => Buffer.concat((message as EncodedMessage).pieces);

async function listed(node: FakeNode): Promise<readonly string[]> {
  const message = await handlersOf(node).list({}, call);
  const { podResources } = ListPodResourcesResponse.decode(bytesOf(message));
  return podResources.map(({ name, namespace }) => `${namespace}/${name}`);
}

async function found(node: FakeNode, podName: string): Promise<string> {
  try {
    const message = await handlersOf(node).get({ podName, podNamespace: 'default' }, call);
    return GetPodResourcesResponse.decode(bytesOf(message)).podResources?.name ?? 'none';
  } catch (err) {
    return String(err);
  }
}

test('a pod is listed from its assignment until it has ended', async () => {
  const world = await startCluster();
  world.run('web', { terminationGracePeriodSeconds: 5 });
  await world.advance(5_000);
  expect(await listed(world.node)).toEqual(['default/web']);
  expect(await found(world.node, 'web')).toBe('web');
  world.delete('web');
  await world.advance(40_000);
  expect(await listed(world.node)).toEqual([]);
  expect(await found(world.node, 'web')).toContain('pod web in namespace default not found');
});
