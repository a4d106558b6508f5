// What the double permits with objects of storage: to nodes only what the Node authorizer and NodeRestriction do.
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { CSINode, PersistentVolume } from '../../../src/api/k8s/types.ts';
import type { ApiClient } from '../../../src/api/ports/api-client.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiServerDouble, adminUser, nodeUser } from '../double.ts';
import { memoryClient } from '../memory-client.ts';

const { signal } = new AbortController();
const options = { signal };
const storage = '/apis/storage.k8s.io/v1';
let double: ApiServerDouble;
let admin: ApiClient;
let node: ApiClient;
let other: ApiClient;

beforeEach(() => {
  const clock = new FakeClock();
  double = new ApiServerDouble({ clock, schedule: false, automount: false });
  onTestFinished(() => double.close());
  admin = memoryClient(double, clock, adminUser).client;
  node = memoryClient(double, clock, nodeUser('n1')).client;
  other = memoryClient(double, clock, nodeUser('n2')).client;
  for (const name of ['n1', 'n2']) double.objects.create('nodes', { metadata: { name } });
  double.objects.create('pods', {
    metadata: { name: 'p', namespace: 'default' },
    spec: {
      nodeName: 'n1',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }],
    },
  });
  double.objects.create('persistentvolumeclaims', {
    metadata: { name: 'claim', namespace: 'default' },
    spec: { volumeName: 'pv', resources: { requests: { storage: '1Gi' } } },
  });
});

async function reason(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no error',
    (err: unknown) => (err instanceof KubeletError ? err.reason : String(err)),
  );
}

const csiNode = (...drivers: CSINode['spec']['drivers']): CSINode => ({
  metadata: { name: 'n1' },
  spec: { drivers },
});
const driver = { name: 'd', nodeID: 'i-1', topologyKeys: ['zone'] };

test('a node creates, reads, writes and deletes the CSINode with its own name only, and lists none', async () => {
  const path = `${storage}/csinodes`;
  expect(await reason(other.create(path, csiNode(), options))).toBe('Forbidden');
  const created = await node.create<CSINode>(path, csiNode(), options);
  expect(await reason(other.get(`${path}/n1`, options))).toBe('Forbidden');
  expect(await reason(other.update(`${path}/n1`, created, options))).toBe('Forbidden');
  expect(await reason(other.delete(`${path}/n1`, {}, options))).toBe('Forbidden');
  expect(await reason(node.get(`${path}/n1`, options))).toBe('no error');
  expect(await reason(node.list(path, options))).toBe('Forbidden');
  expect(await reason(node.delete(`${path}/n1`, {}, options))).toBe('no error');
});

const updates: readonly (readonly [string, CSINode['spec']['drivers'], string])[] = [
  ['another count', [{ ...driver, allocatable: { count: 3 } }], 'no error'],
  ['a second driver', [driver, { ...driver, name: 'e' }], 'no error'],
  ['no driver', [], 'no error'],
  ['another node ID', [{ ...driver, nodeID: 'i-2' }], 'Invalid'],
  ['another topology key', [{ ...driver, topologyKeys: [] }], 'Invalid'],
  ['an empty node ID', [driver, { ...driver, name: 'e', nodeID: '' }], 'Invalid'],
  ['a long node ID', [driver, { ...driver, name: 'e', nodeID: 'x'.repeat(257) }], 'Invalid'],
  ['a negative count', [{ ...driver, allocatable: { count: -1 } }], 'Invalid'],
  ['the same driver twice', [driver, driver], 'Invalid'],
  ['an invalid name', [driver, { ...driver, name: 'a_b' }], 'Invalid'],
  ['an invalid topology key', [driver, { ...driver, name: 'e', topologyKeys: ['a b'] }], 'Invalid'],
];
for (const [name, drivers, want] of updates)
  test(`CSINode with ${name}: ${want}`, async () => {
    const created = await node.create<CSINode>(`${storage}/csinodes`, csiNode(driver), options);
    const after = { ...created, spec: { drivers } };
    expect(await reason(node.update(`${storage}/csinodes/n1`, after, options))).toBe(want);
  });

test('CSINode is not updated without a resource version, nor with an old one', async () => {
  const created = await node.create<CSINode>(`${storage}/csinodes`, csiNode(), options);
  expect(await reason(node.update(`${storage}/csinodes/n1`, csiNode(driver), options))).toBe('Invalid');
  const after = { ...created, spec: { drivers: [driver] } };
  expect(await reason(node.update(`${storage}/csinodes/n1`, after, options))).toBe('no error');
  expect(await reason(node.update(`${storage}/csinodes/n1`, after, options))).toBe('Conflict');
});

test('nodes list and watch CSIDrivers, and write none', async () => {
  expect(await reason(node.list(`${storage}/csidrivers`, options))).toBe('no error');
  const object = { metadata: { name: 'd' }, spec: {} };
  expect(await reason(node.create(`${storage}/csidrivers`, object, options))).toBe('Forbidden');
});

test('a new CSIDriver has its defaults', () => {
  const { spec } = double.objects.create('csidrivers', {
    metadata: { name: 'd' },
    spec: { attachRequired: false },
  });
  expect(spec).toMatchObject({
    attachRequired: false,
    requiresRepublish: false,
    volumeLifecycleModes: ['Persistent'],
  });
});

test('a node gets the attachments of its own volumes one by one', async () => {
  const spec = { attacher: 'd', nodeName: 'n1', source: { persistentVolumeName: 'pv' } };
  await admin.create(`${storage}/volumeattachments`, { metadata: { name: 'csi-1' }, spec }, options);
  const path = `${storage}/volumeattachments/csi-1`;
  expect(await reason(node.get(path, options))).toBe('no error');
  expect(await reason(other.get(path, options))).toBe('Forbidden');
  expect(await reason(node.get(`${path}/status`, options))).toBe('Forbidden');
  expect(await reason(node.list(`${storage}/volumeattachments`, options))).toBe('Forbidden');
  expect(await reason(node.patch(`${path}/status`, 'merge', {}, options))).toBe('Forbidden');
});

type Spec = NonNullable<PersistentVolume['spec']>;
const ref = { name: 's', namespace: 'default' };
const named = { name: 's' };
const csi = { driver: 'd', volumeHandle: 'h' };
const iscsi = { targetPortal: 'p', iqn: 'q', lun: 0 };
const sources: readonly (readonly [string, Spec, string])[] = [
  ['nodeStageSecretRef', { csi: { ...csi, nodeStageSecretRef: ref } }, 'no error'],
  ['nodePublishSecretRef', { csi: { ...csi, nodePublishSecretRef: ref } }, 'no error'],
  ['nodeExpandSecretRef', { csi: { ...csi, nodeExpandSecretRef: ref } }, 'no error'],
  ['controllerPublishSecretRef', { csi: { ...csi, controllerPublishSecretRef: ref } }, 'Forbidden'],
  ['controllerExpandSecretRef', { csi: { ...csi, controllerExpandSecretRef: ref } }, 'Forbidden'],
  [
    'a secret of another namespace',
    { csi: { ...csi, nodeStageSecretRef: { ...ref, namespace: 'x' } } },
    'Forbidden',
  ],
  ['another secret', { csi: { ...csi, nodeStageSecretRef: { ...ref, name: 't' } } }, 'Forbidden'],
  ['iscsi', { iscsi: { ...iscsi, secretRef: ref } }, 'no error'],
  ['iscsi, in the namespace of the claim', { iscsi: { ...iscsi, secretRef: named } }, 'no error'],
  ['flexVolume', { flexVolume: { driver: 'v/d', secretRef: named } }, 'no error'],
  ['azureFile', { azureFile: { secretName: 's', shareName: 'x' } }, 'no error'],
];
for (const [name, source, want] of sources)
  test(`a secret that a bound volume names as ${name}: ${want}`, async () => {
    const secret = { metadata: { name: 's' }, data: {} };
    await admin.create('/api/v1/namespaces/default/secrets', secret, options);
    const claimRef = { namespace: 'default', name: 'claim' };
    const volume = { metadata: { name: 'pv' }, spec: { ...source, claimRef } };
    await admin.create('/api/v1/persistentvolumes', volume, options);
    const path = '/api/v1/namespaces/default/secrets/s';
    expect(await reason(node.get(path, options))).toBe(want);
    expect(await reason(other.get(path, options))).toBe('Forbidden');
  });

test('an unbound volume grants no secret', async () => {
  await admin.create('/api/v1/namespaces/default/secrets', { metadata: { name: 's' }, data: {} }, options);
  const spec = { csi: { ...csi, nodeStageSecretRef: ref } };
  await admin.create('/api/v1/persistentvolumes', { metadata: { name: 'pv' }, spec }, options);
  expect(await reason(node.get('/api/v1/namespaces/default/secrets/s', options))).toBe('Forbidden');
});

const claim = '/api/v1/namespaces/default/persistentvolumeclaims/claim';
const patches: readonly (readonly [string, object, string])[] = [
  ['capacity', { status: { capacity: { storage: '1Gi' } } }, 'no error'],
  ['conditions', { status: { conditions: [{ type: 'Resizing', status: 'True' }] } }, 'no error'],
  ['allocatedResources', { status: { allocatedResources: { storage: '2Gi' } } }, 'no error'],
  ['allocatedResourceStatuses', { status: { allocatedResourceStatuses: { storage: 'x' } } }, 'no error'],
  ['phase', { status: { phase: 'Lost' } }, 'Forbidden'],
  ['accessModes', { status: { accessModes: ['ReadWriteOnce'] } }, 'Forbidden'],
  ['labels', { metadata: { labels: { a: 'b' } } }, 'Forbidden'],
  ['annotations', { metadata: { annotations: { a: 'b' } } }, 'Forbidden'],
  ['finalizers', { metadata: { finalizers: ['a.b/c'] } }, 'Forbidden'],
];
for (const [name, patch, want] of patches)
  test(`a node patches the status of a claim, ${name}: ${want}`, async () => {
    expect(await reason(node.patch(`${claim}/status`, 'strategic', patch, options))).toBe(want);
    expect(await reason(other.patch(`${claim}/status`, 'strategic', patch, options))).toBe('Forbidden');
    expect(await reason(node.patch(claim, 'strategic', patch, options))).toBe('Forbidden');
  });
