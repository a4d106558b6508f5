// The contract of the API server, as far as kubelets rely on it. Runs on the double and on real servers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConfigMap, Pod } from '../../../src/api/k8s/types.ts';
import { certificateContract } from './contract-certificates.ts';
import {
  type ContractContext,
  type ContractRig,
  contractPod,
  openContext,
  reasonOf,
  takeEvents,
} from './contract-kit.ts';
import { nodeContract } from './contract-node.ts';

export function apiServerContract(name: string, open: () => Promise<ContractRig>): void {
  describe(name, () => {
    let context: Awaited<ReturnType<typeof openContext>>;
    beforeAll(async () => {
      context = await openContext(await open());
    }, 60_000);
    afterAll(async () => {
      await context.clear();
      await context.close();
    }, 60_000);
    objects(() => context);
    watches(() => context);
    deletion(() => context);
    nodeContract(() => context);
    certificateContract(() => context);
  });
}

type GetContext = () => ContractContext;

async function makeConfigMap(context: ContractContext, name: string, labels = {}): Promise<ConfigMap> {
  const { admin, signal, path } = context;
  return await admin.create(path('configmaps'), { metadata: { name, labels }, data: { a: '1' } }, { signal });
}

function objects(context: GetContext): void {
  test('a created object has a UID, a resource version and a creation time, and cannot be created twice', async () => {
    const { admin, signal, path } = context();
    const created = await makeConfigMap(context(), 'created');
    expect(created.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(created.metadata?.resourceVersion).toMatch(/^\d+$/);
    expect(created.metadata?.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(await admin.get(path('configmaps', 'created'), { signal })).toMatchObject({ data: { a: '1' } });
    expect(await reasonOf(makeConfigMap(context(), 'created'))).toBe('AlreadyExists');
    expect(await reasonOf(admin.get(path('configmaps', 'missing'), { signal }))).toBe('NotFound');
  });

  test('an update of an older version conflicts; an update without a change keeps the version', async () => {
    const { admin, signal, path } = context();
    const first = await makeConfigMap(context(), 'updated');
    const second = await admin.update<ConfigMap>(
      path('configmaps', 'updated'),
      { ...first, data: { a: '2' } },
      { signal },
    );
    expect(await reasonOf(admin.update(path('configmaps', 'updated'), first, { signal }))).toBe('Conflict');
    const third = await admin.update<ConfigMap>(path('configmaps', 'updated'), second, { signal });
    expect(third.metadata?.resourceVersion).toBe(second.metadata?.resourceVersion);
  });

  test('all pages of a list have one version', async () => {
    const { admin, signal, path } = context();
    for (const name of ['page-a', 'page-b', 'page-c']) await makeConfigMap(context(), name, { paged: 'yes' });
    const query = { labelSelector: 'paged=yes', limit: 2 };
    const first = await admin.list<ConfigMap>(path('configmaps'), { signal, query });
    expect(first.items?.map(({ metadata }) => metadata?.name)).toEqual(['page-a', 'page-b']);
    const token = first.metadata?.continue;
    await admin.delete(path('configmaps', 'page-c'), {}, { signal });
    const rest = await admin.list<ConfigMap>(path('configmaps'), {
      signal,
      query: { ...query, continue: token },
    });
    expect(rest.items?.map(({ metadata }) => metadata?.name)).toEqual(['page-c']);
    expect(rest.metadata?.resourceVersion).toBe(first.metadata?.resourceVersion);
    expect(rest.metadata?.continue ?? '').toBe('');
  });

  test('merge patches and JSON patches change only the fields they name; another UID is invalid', async () => {
    const { admin, signal, path } = context();
    await makeConfigMap(context(), 'patched');
    const at = path('configmaps', 'patched');
    const merged = await admin.patch<ConfigMap>(at, 'merge', { data: { a: null, b: '2' } }, { signal });
    expect(merged.data).toEqual({ b: '2' });
    const stepped = await admin.patch<ConfigMap>(at, 'json', [{ op: 'add', path: '/data/c', value: '3' }], {
      signal,
    });
    expect(stepped.data).toEqual({ b: '2', c: '3' });
    const foreign = { metadata: { uid: '11111111-1111-1111-1111-111111111111' }, data: { d: '4' } };
    expect(await reasonOf(admin.patch(at, 'merge', foreign, { signal }))).toBe('Invalid');
    const updated = { ...stepped, metadata: { ...stepped.metadata, ...foreign.metadata } };
    expect(await reasonOf(admin.update(at, updated, { signal }))).toBe('Conflict');
  });

  test('a strategic patch of a pod status merges conditions by type and replaces container statuses', async () => {
    const { admin, signal, path } = context();
    await admin.create(path('pods'), contractPod('status', { nodeName: 'contract-none' }), { signal });
    const at = path('pods', 'status', 'status');
    const condition = (type: string, status: string) => ({ type, status, lastProbeTime: null });
    const waiting = (name: string) => ({
      name,
      image: 'i',
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: 'ContainerCreating' } },
    });
    const first = { conditions: [condition('Ready', 'False'), condition('Initialized', 'True')] };
    await admin.patch(
      at,
      'strategic',
      { status: { ...first, containerStatuses: [waiting('app')] } },
      { signal },
    );
    const second = {
      conditions: [condition('Ready', 'True')],
      containerStatuses: [{ ...waiting('app'), ready: true }],
    };
    const pod = await admin.patch<Pod>(
      at,
      'strategic',
      { status: second, spec: { nodeName: 'x' } },
      { signal },
    );
    const conditions = pod.status?.conditions?.map(({ type, status }) => `${type}=${status}`) ?? [];
    expect(conditions.filter((each) => !each.startsWith('PodScheduled')).sort()).toEqual([
      'Initialized=True',
      'Ready=True',
    ]);
    expect(pod.status?.containerStatuses?.map(({ ready }) => ready)).toEqual([true]);
    expect(pod.spec?.nodeName).toBe('contract-none');
  });

  test('a resize changes resources only, increments the generation, and is rejected if it changes anything else', async () => {
    const { admin, signal, path } = context();
    const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
    const containers = [{ name: 'app', image: 'registry.example/app:1', resources }];
    await admin.create(path('pods'), contractPod('sized', { nodeName: 'contract-none', containers }), {
      signal,
    });
    const resize = (resources: object, more: object = {}): Promise<Pod> => {
      const patch = { spec: { containers: [{ name: 'app', resources, ...more }] } };
      return admin.patch<Pod>(path('pods', 'sized', 'resize'), 'strategic', patch, { signal });
    };
    const pod = await resize({ requests: { cpu: '0.15' } }, { image: 'registry.example/other:1' });
    expect(pod.spec?.containers[0]?.resources?.requests).toEqual({ cpu: '150m', memory: '64Mi' });
    expect([pod.spec?.containers[0]?.image, pod.metadata?.generation]).toEqual(['registry.example/app:1', 2]);
    expect((await resize({ requests: { cpu: '150m' } })).metadata?.generation).toBe(2);
    expect(await reasonOf(resize({ requests: { cpu: '200m', memory: '128Mi' } }))).toBe('Invalid');
    expect(await reasonOf(resize({ requests: { cpu: '300m' } }))).toBe('Invalid');
    expect(await reasonOf(resize({ limits: { cpu: null } }))).toBe('Invalid');
    expect(await reasonOf(resize({ requests: { 'ephemeral-storage': '1Gi' } }))).toBe('Invalid');
  });

  test('a write to the pod leaves its status unchanged', async () => {
    const { admin, signal, path } = context();
    const at = path('pods', 'status');
    const pod = await admin.patch<Pod>(
      at,
      'strategic',
      { metadata: { labels: { a: 'b' } }, status: { phase: 'Failed' } },
      { signal },
    );
    expect(pod.metadata?.labels).toEqual({ a: 'b' });
    expect(pod.status?.phase).toBe('Pending');
  });

  test('rejects a body that is not JSON, is of another kind, or targets an unknown resource', async () => {
    const { admin, signal, path } = context();
    expect(await reasonOf(admin.create(path('pods'), { kind: 'Node', apiVersion: 'v1' }, { signal }))).toBe(
      'BadRequest',
    );
    expect(await reasonOf(admin.get('/apis/nothing.example/v1/things', { signal }))).toBe('NotFound');
    const query = { fieldSelector: 'spec.nothing=1' };
    expect(await reasonOf(admin.list(path('pods'), { signal, query }))).toBe('BadRequest');
  });
}

function watches(context: GetContext): void {
  test('a watch sends the events since a version, then new ones', async () => {
    const { admin, signal, path } = context();
    const { metadata } = await admin.list(path('configmaps'), { signal });
    await makeConfigMap(context(), 'watched');
    const events = admin.watch(path('configmaps'), { resourceVersion: metadata?.resourceVersion }, signal);
    const taken = takeEvents(events, 3);
    await admin.patch(path('configmaps', 'watched'), 'merge', { data: { a: '9' } }, { signal });
    await admin.delete(path('configmaps', 'watched'), {}, { signal });
    expect(await taken).toEqual(['ADDED watched', 'MODIFIED watched', 'DELETED watched']);
  });

  test('a watch with a selector sends ADDED and DELETED for objects that begin and cease to match', async () => {
    const { admin, signal, path } = context();
    await makeConfigMap(context(), 'selected');
    const { metadata } = await admin.list(path('configmaps'), { signal });
    const events = admin.watch(
      path('configmaps'),
      { resourceVersion: metadata?.resourceVersion, labelSelector: 'on=yes' },
      signal,
    );
    const taken = takeEvents(events, 2);
    await admin.patch(
      path('configmaps', 'selected'),
      'merge',
      { metadata: { labels: { on: 'yes' } } },
      { signal },
    );
    await admin.patch(
      path('configmaps', 'selected'),
      'merge',
      { metadata: { labels: { on: 'no' } } },
      { signal },
    );
    expect(await taken).toEqual(['ADDED selected', 'DELETED selected']);
  });

  test('a watch without a version begins with the present objects, and ends at its timeout', async () => {
    const { admin, signal, path } = context();
    await makeConfigMap(context(), 'present');
    const query = { fieldSelector: 'metadata.name=present', timeoutSeconds: 1 };
    const seen: string[] = [];
    for await (const event of admin.watch<ConfigMap>(path('configmaps'), query, signal)) {
      seen.push(`${event.type} ${event.object.metadata?.name}`);
    }
    expect(seen).toEqual(['ADDED present']);
  });

  test('a streamed list begins with the present objects, marks their end, and continues as a watch', async () => {
    const { admin, signal, path } = context();
    for (const name of ['streamed-a', 'streamed-b'])
      await makeConfigMap(context(), name, { streamed: 'yes' });
    const query = {
      labelSelector: 'streamed=yes',
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: true,
    };
    const seen: string[] = [];
    let version = '';
    for await (const { type, object } of admin.watch<ConfigMap>(path('configmaps'), query, signal)) {
      const { annotations, name, resourceVersion = '' } = object.metadata ?? {};
      const isEnd = annotations?.['k8s.io/initial-events-end'] === 'true';
      if (type === 'BOOKMARK' && !isEnd) continue;
      seen.push(isEnd ? `${type} end` : `${type} ${name}`);
      if (isEnd) {
        version = resourceVersion;
        await admin.patch(path('configmaps', 'streamed-a'), 'merge', { data: { a: '2' } }, { signal });
      }
      if (type === 'MODIFIED') break;
    }
    expect(seen.slice(0, 2).sort()).toEqual(['ADDED streamed-a', 'ADDED streamed-b']);
    expect(seen.slice(2)).toEqual(['BOOKMARK end', 'MODIFIED streamed-a']);
    expect(Number(version)).toBeGreaterThan(0);
  });

  test('streamed lists need both of their parameters', async () => {
    const { admin, signal, path } = context();
    const first = (query: object): Promise<unknown> =>
      takeEvents(admin.watch(path('configmaps'), { ...query }, signal), 1);
    expect(await reasonOf(first({ sendInitialEvents: true }))).toBe('Invalid');
    expect(await reasonOf(first({ resourceVersionMatch: 'NotOlderThan' }))).toBe('Invalid');
  });

  test('an expired version is rejected with 410, unless the server still has it', async () => {
    const { admin, keepsHistory, signal, path } = context();
    const code = await takeEvents(admin.watch(path('configmaps'), { resourceVersion: '1' }, signal), 1).then(
      () => 'no error',
      (err: unknown) => (err as { details?: { code?: number } }).details?.code,
    );
    // A server compacts after five minutes at the earliest, the double at once.
    expect(keepsHistory === true ? [410, 'no error'] : [410]).toContain(code);
  });
}

function deletion(context: GetContext): void {
  test('a bound pod is deleted with its grace period, which can only be shortened, and at once with none', async () => {
    const { admin, signal, path } = context();
    await admin.create(path('pods'), contractPod('graceful', { nodeName: 'contract-none' }), { signal });
    const at = path('pods', 'graceful');
    const first = await admin.delete<Pod>(at, {}, { signal });
    expect(first.metadata?.deletionGracePeriodSeconds).toBe(30);
    expect(first.metadata?.deletionTimestamp).toBeDefined();
    await admin.delete(at, { gracePeriodSeconds: 60 }, { signal });
    expect((await admin.get<Pod>(at, { signal })).metadata?.deletionGracePeriodSeconds).toBe(30);
    await admin.delete(at, { gracePeriodSeconds: 5 }, { signal });
    expect((await admin.get<Pod>(at, { signal })).metadata?.deletionGracePeriodSeconds).toBe(5);
    const foreign = { gracePeriodSeconds: 0, preconditions: { uid: 'another' } };
    expect(await reasonOf(admin.delete(at, foreign, { signal }))).toBe('Conflict');
    await admin.delete(
      at,
      { gracePeriodSeconds: 0, preconditions: { uid: first.metadata?.uid ?? '' } },
      { signal },
    );
    expect(await reasonOf(admin.get(at, { signal }))).toBe('NotFound');
  });

  test('a pod without a node is deleted at once', async () => {
    const { admin, signal, path } = context();
    const gated = contractPod('unbound', { schedulingGates: [{ name: 'example.com/wait' }] });
    await admin.create(path('pods'), gated, { signal });
    await admin.delete(path('pods', 'unbound'), {}, { signal });
    expect(await reasonOf(admin.get(path('pods', 'unbound'), { signal }))).toBe('NotFound');
  });

  test('a pod with a finalizer stays until the finalizer is removed', async () => {
    const { admin, signal, path } = context();
    const pod = contractPod('finalized', { nodeName: 'contract-none' });
    const metadata = { ...pod.metadata, finalizers: ['example.com/keep'] };
    await admin.create(path('pods'), { ...pod, metadata }, { signal });
    const at = path('pods', 'finalized');
    await admin.delete(at, { gracePeriodSeconds: 0 }, { signal });
    const left = await admin.get<Pod>(at, { signal });
    expect(left.metadata?.deletionGracePeriodSeconds).toBe(0);
    await admin.patch(at, 'merge', { metadata: { finalizers: null } }, { signal });
    expect(await reasonOf(admin.get(at, { signal }))).toBe('NotFound');
  });

  test('a pod can be bound only once', async () => {
    const { admin, signal, path } = context();
    const gated = contractPod('bound', { schedulerName: 'nobody' });
    await admin.create(path('pods'), gated, { signal });
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'bound' },
      target: { kind: 'Node', name: 'contract-none' },
    };
    await admin.create(path('pods', 'bound', 'binding'), binding, { signal });
    const pod = await admin.get<Pod>(path('pods', 'bound'), { signal });
    expect(pod.spec?.nodeName).toBe('contract-none');
    expect(pod.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toContain(
      'PodScheduled=True',
    );
    expect(await reasonOf(admin.create(path('pods', 'bound', 'binding'), binding, { signal }))).toBe(
      'Conflict',
    );
  });
}
