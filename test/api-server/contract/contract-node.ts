// The contract of what a node may do, on the double and on a real server with the Node authorizer and NodeRestriction.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Lease, Node, Pod, TokenRequest } from '../../../src/api/k8s/types.ts';
import type { ApiClient } from '../../../src/api/ports/api-client.ts';
import { type ContractContext, contractPod, reasonOf } from './contract-kit.ts';

export function nodeContract(context: () => ContractContext): void {
  const name = `contract-node-${Math.random().toString(36).slice(2, 8)}`;
  let node: ApiClient;
  let registered: Node;
  let pod: Pod;

  beforeAll(async () => {
    const { admin, asNode, signal, path } = context();
    node = asNode(name);
    registered = await node.create<Node>('/api/v1/nodes', { metadata: { name } }, { signal });
    for (const each of ['granted', 'other']) {
      await admin.create(path('secrets'), { metadata: { name: each }, stringData: { a: '1' } }, { signal });
      await admin.create(path('configmaps'), { metadata: { name: each }, data: { a: '1' } }, { signal });
    }
    const spec = contractPod('mine', {
      nodeName: name,
      volumes: [
        { name: 's', secret: { secretName: 'granted' } },
        { name: 'c', configMap: { name: 'granted' } },
        {
          name: 't',
          projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] },
        },
      ],
    });
    pod = await admin.create<Pod>(path('pods'), spec, { signal });
    await admin.create(path('pods'), contractPod('theirs', { nodeName: 'contract-none' }), { signal });
    // A real authorizer observes the pod by its own watch, some moments later.
    for (let attempt = 0; attempt < 50; attempt++) {
      if ((await reasonOf(node.get(path('secrets', 'granted'), { signal }))) === 'no error') break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }, 30_000);

  afterAll(async () => {
    const { admin, signal } = context();
    await admin.delete(`/api/v1/nodes/${name}`, {}, { signal });
    const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
    await admin.delete(lease, {}, { signal });
  }, 30_000);

  test('a new node is tainted until it is ready, and a node may write only its own object', async () => {
    const { signal } = context();
    expect(registered.spec?.taints).toEqual([{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    const other = { metadata: { name: `${name}-other` } };
    expect(await reasonOf(node.create('/api/v1/nodes', other, { signal }))).toBe('Forbidden');
    const at = `/api/v1/nodes/${name}`;
    const labels = (key: string) => ({ metadata: { labels: { [key]: 'x' } } });
    expect(await reasonOf(node.patch(at, 'merge', labels('kubernetes.io/hostname'), { signal }))).toBe(
      'no error',
    );
    for (const key of ['node-role.kubernetes.io/worker', 'node-restriction.kubernetes.io/x']) {
      expect(await reasonOf(node.patch(at, 'merge', labels(key), { signal }))).toBe('Forbidden');
    }
    const taints = { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
    expect(await reasonOf(node.patch(at, 'merge', taints, { signal }))).toBe('Forbidden');
  });

  test('a node reads its own object and no other node', async () => {
    const { signal } = context();
    const one = { fieldSelector: `metadata.name=${name}` };
    expect((await node.list<Node>('/api/v1/nodes', { signal, query: one })).items).toHaveLength(1);
    expect(await reasonOf(node.list('/api/v1/nodes', { signal }))).toBe('Forbidden');
  });

  test('a node lists pods with its own name as selector, and none of other nodes', async () => {
    const { signal, path } = context();
    const query = { fieldSelector: `spec.nodeName=${name}` };
    const { items } = await node.list<Pod>('/api/v1/pods', { signal, query });
    expect(items?.map(({ metadata }) => metadata?.name)).toEqual(['mine']);
    expect(await reasonOf(node.get(path('pods', 'mine'), { signal }))).toBe('no error');
    expect(await reasonOf(node.get(path('pods', 'theirs'), { signal }))).toBe('Forbidden');
    expect(await reasonOf(node.list('/api/v1/pods', { signal }))).toBe('Forbidden');
  });

  for (const kind of ['secrets', 'configmaps'])
    test(`a node reads ${kind} that its pods refer to, by name`, async () => {
      const { signal, path } = context();
      const query = { fieldSelector: 'metadata.name=granted' };
      expect(await reasonOf(node.get(path(kind, 'granted'), { signal }))).toBe('no error');
      expect((await node.list(path(kind), { signal, query })).items).toHaveLength(1);
      expect(await reasonOf(node.get(path(kind, 'other'), { signal }))).toBe('Forbidden');
      expect(await reasonOf(node.list(path(kind), { signal }))).toBe('Forbidden');
    });

  test('a node writes the status of its own pods only, without labels', async () => {
    const { signal, path } = context();
    const status = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
    expect(await reasonOf(node.patch(path('pods', 'mine', 'status'), 'strategic', status, { signal }))).toBe(
      'no error',
    );
    const theirs = node.patch(path('pods', 'theirs', 'status'), 'strategic', status, { signal });
    expect(await reasonOf(theirs)).toBe('Forbidden');
    const labels = { metadata: { labels: { a: 'b' } } };
    const labelled = node.patch(path('pods', 'mine', 'status'), 'strategic', labels, { signal });
    expect(await reasonOf(labelled)).toBe('Forbidden');
  });

  test('a node creates mirror pods that it owns, and no other pods', async () => {
    const { signal, path } = context();
    const owner = {
      apiVersion: 'v1',
      kind: 'Node',
      name,
      uid: registered.metadata?.uid ?? '',
      controller: true,
    };
    const mirror = contractPod('mirror', { nodeName: name });
    const metadata = { name: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'hash' } };
    expect(await reasonOf(node.create(path('pods'), mirror, { signal }))).toBe('Forbidden');
    expect(await reasonOf(node.create(path('pods'), { ...mirror, metadata }, { signal }))).toBe('Forbidden');
    const owned = { ...mirror, metadata: { ...metadata, ownerReferences: [owner] } };
    const pod = await node.create<Pod>(path('pods'), owned, { signal });
    expect(pod.spec?.volumes ?? []).toEqual([]);
    expect(pod.status?.phase).toBe('Pending');
    await node.delete(path('pods', 'mirror'), { gracePeriodSeconds: 0 }, { signal });
    expect(await reasonOf(node.delete(path('pods', 'theirs'), {}, { signal }))).toBe('Forbidden');
  });

  test('a node requests tokens for the service accounts of its pods, bound to the pod', async () => {
    const { signal, path } = context();
    const request = (uid: string, audience = 'vault') => ({
      spec: {
        audiences: [audience],
        expirationSeconds: 3600,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine', uid },
      },
    });
    const at = path('serviceaccounts', 'default', 'token');
    const token = await node.create<TokenRequest>(at, request(pod.metadata?.uid ?? ''), { signal });
    expect(token.status?.token?.split('.')).toHaveLength(3);
    expect(Date.parse(token.status?.expirationTimestamp ?? '')).not.toBeNaN();
    expect(await reasonOf(node.create(at, request('another'), { signal }))).toMatch(/Conflict|Forbidden/);
    const unnamed = request(pod.metadata?.uid ?? '', 'other-audience');
    expect(await reasonOf(node.create(at, unnamed, { signal }))).toBe('Forbidden');
    const foreign = path('serviceaccounts', 'nobody', 'token');
    expect(await reasonOf(node.create(foreign, request(pod.metadata?.uid ?? ''), { signal }))).toBe(
      'Forbidden',
    );
  });

  test('a node renews its own lease only', async () => {
    const { signal } = context();
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    const body = (each: string) => ({ metadata: { name: each }, spec: { holderIdentity: name } });
    const lease = await node.create<Lease>(leases, body(name), { signal });
    const renewed = { ...lease, spec: { ...lease.spec, renewTime: '2026-01-01T00:00:00.000000Z' } };
    await node.update(`${leases}/${name}`, renewed, { signal });
    expect(await reasonOf(node.update(`${leases}/${name}`, renewed, { signal }))).toBe('Conflict');
    expect(await reasonOf(node.create(leases, body('another'), { signal }))).toBe('Forbidden');
    expect(await reasonOf(node.get(`${leases}/another`, { signal }))).toBe('Forbidden');
  });

  test('a node reads services and runtime classes, and no unrelated resources', async () => {
    const { signal, path } = context();
    expect(await reasonOf(node.list('/api/v1/services', { signal }))).toBe('no error');
    expect(await reasonOf(node.list('/apis/node.k8s.io/v1/runtimeclasses', { signal }))).toBe('no error');
    expect(await reasonOf(node.list('/api/v1/namespaces', { signal }))).toBe('Forbidden');
    expect(await reasonOf(node.delete(path('configmaps', 'granted'), {}, { signal }))).toBe('Forbidden');
  });
}
