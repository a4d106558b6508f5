// A whole kubelet of a cluster in memory: the API server's double, the real loops, FakeCri, the fake clock.
import { expect, onTestFinished, test } from 'vitest';
import type { Node, Pod, PodStatus } from '../api/k8s.ts';
import { aPod, type PodOver } from './builders.ts';
import { FakeNode } from './fake-node.ts';

async function cluster(prepare?: (node: FakeNode) => void) {
  const node = new FakeNode({ cluster: true });
  const { api, clock } = node;
  if (api === undefined) throw new Error('there is no cluster');
  prepare?.(node);
  onTestFinished(async () => {
    await node.stop();
    api.close();
  });
  await node.start();
  const pod = (name: string): Pod | undefined => api.objects.get('pods', 'default', name);
  return {
    api,
    clock,
    node,
    pod,
    phase: (name: string): string | undefined => pod(name)?.status?.phase,
    ready: (name: string): string | undefined => readyOf(pod(name)?.status),
    self: (): Node | undefined => api.objects.get('nodes', '', 'n'),
    run: (name: string, over: PodOver = {}): Pod => {
      const { metadata, spec } = aPod({ name, nodeName: 'n', ...over });
      const { uid: _given, ...rest } = metadata ?? {};
      return api.objects.create('pods', { metadata: rest, ...(spec === undefined ? {} : { spec }) });
    },
  };
}

function readyOf(status: PodStatus | Node['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}

test('the node registers, is ready, has its lease, and everything within what a node may do', async () => {
  const { api, clock, self } = await cluster();
  await clock.advance(3_000);
  expect(readyOf(self()?.status)).toBe('True');
  expect(self()?.metadata?.labels).toMatchObject({ 'kubernetes.io/hostname': 'n' });
  const lease = api.objects.get('leases', 'kube-node-lease', 'n');
  expect(lease?.metadata?.ownerReferences).toMatchObject([{ kind: 'Node', uid: self()?.metadata?.uid }]);
  expect(api.requests.filter(({ code }) => code === 403)).toEqual([]);
  expect(api.objects.list('events', 'default').map(({ reason }) => reason)).toContain('Starting');
});

test('a pod that is bound to the node runs and is ready', async () => {
  const { api, clock, phase, pod, ready, run } = await cluster();
  await clock.advance(2_000);
  run('web');
  await clock.advance(3_000);
  expect([phase('web'), ready('web')]).toEqual(['Running', 'True']);
  expect(pod('web')?.status?.hostIP).toBe('192.0.2.2');
  expect(api.requests.filter(({ code }) => code === 403)).toEqual([]);
});
