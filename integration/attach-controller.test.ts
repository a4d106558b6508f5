// The attach controller of the CSI tests, with a node whose kubelet is the test: it attaches and detaches in the order of the real
// one, and finds the violations that it is there to find.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { realClock } from '../src/base/clock.ts';
import { ApiServerDouble } from '../test/api-server/double.ts';
import { AttachController, type AttachOrders } from './support/attach-controller.ts';
import { testDriver } from './support/csi-driver.ts';
import {
  attachmentName,
  claimVolume,
  csiClaim,
  csiDriverObject,
  type StorageCluster,
  uniqueVolumeName,
} from './support/csi-objects.ts';
import { eventually } from './support/suite-driver.ts';

const nodeName = 'node1';
const unique = uniqueVolumeName('disk');
const attachment = attachmentName('disk', testDriver, nodeName);

let cluster: StorageCluster;
let controller: AttachController;
const mounted = new Set<string>();

beforeEach(() => {
  const double = new ApiServerDouble({ clock: realClock, schedule: false });
  cluster = { double, nodeName };
  double.objects.create('nodes', { metadata: { name: nodeName } });
  controller = new AttachController(cluster, { mounted: () => mounted, lateMs: 100 });
  controller.start();
});

afterEach(() => {
  controller.stop();
  cluster.double.close();
  mounted.clear();
});

const createPod = (): void => {
  cluster.double.objects.create('pods', {
    metadata: { name: 'p', namespace: 'default' },
    spec: { nodeName, containers: [{ name: 'main', image: 'none' }], volumes: [claimVolume('disk')] },
  });
};
const deletePod = (): void => {
  cluster.double.objects.delete('pods', 'default', 'p', { gracePeriodSeconds: 0 });
};
/** What the kubelet reports. */
const reportInUse = (...names: readonly string[]): void => {
  cluster.double.objects.patch('nodes', '', nodeName, { status: { volumesInUse: names } }, 'status');
};
const attached = (): readonly string[] =>
  (cluster.double.objects.get('nodes', '', nodeName)?.status?.volumesAttached ?? []).map(({ name }) => name);
const found = () => cluster.double.objects.get('volumeattachments', '', attachment);
const untilAttached = (): Promise<void> => eventually(attached).toEqual([unique]);
const order = (orders: AttachOrders): void => controller.order(orders);

test('attaches what a pod of the node needs, and detaches it when the node stops using it', async () => {
  order({ metadata: { device: 'sdx' }, detachMs: 100 });
  csiClaim(cluster, { name: 'disk' });
  createPod();
  await untilAttached();
  expect(found()?.status).toMatchObject({ attached: true, attachmentMetadata: { device: 'sdx' } });
  expect(found()?.spec).toEqual({
    attacher: testDriver,
    nodeName,
    source: { persistentVolumeName: 'disk' },
  });
  reportInUse(unique);
  await eventually(() => controller.times.get('disk')?.inUseMs).toBeDefined();
  mounted.add('disk');
  await eventually(() => controller.times.get('disk')?.mountedMs).toBeDefined();
  deletePod();
  await eventually(() => controller.times.get('disk')?.unwantedMs).toBeDefined();
  expect(attached()).toEqual([unique]);
  mounted.clear();
  reportInUse();
  await eventually(attached).toEqual([]);
  // The status is written first.
  expect(found()?.metadata?.deletionTimestamp).toBeDefined();
  await eventually(found).toBeUndefined();
  expect(controller.violations).toEqual([]);
});

test('reports an error of the attachment until the order is removed', async () => {
  order({ error: { message: 'no slot', errorCode: 8 } });
  csiClaim(cluster, { name: 'disk' });
  createPod();
  await eventually(() => found()?.status?.attachError).toMatchObject({ message: 'no slot', errorCode: 8 });
  expect(attached()).toEqual([]);
  order({});
  await untilAttached();
  expect(found()?.status?.attachError).toBeUndefined();
});

test('ignores volumes whose driver needs no attachment', async () => {
  csiDriverObject(cluster);
  csiClaim(cluster, { name: 'disk' });
  createPod();
  csiClaim(cluster, { name: 'other', driver: 'other.example.com' });
  cluster.double.objects.create('pods', {
    metadata: { name: 'q', namespace: 'default' },
    spec: { nodeName, containers: [{ name: 'main', image: 'none' }], volumes: [claimVolume('other')] },
  });
  await eventually(attached).toEqual([uniqueVolumeName('other', 'other.example.com')]);
});

test('a volume that is mounted before it is attached or reported is a violation', async () => {
  order({ attachMs: 200 });
  csiClaim(cluster, { name: 'disk' });
  createPod();
  await eventually(() => found()?.status?.attached).toBe(false);
  mounted.add('disk');
  await untilAttached();
  expect(controller.violations).toEqual([
    'disk: mounted while it is attaching',
    'disk: mounted while the node does not report it as in use',
  ]);
});

test('a volume that stays mounted when it is no longer reported, or reported long after its unmount, is one', async () => {
  csiClaim(cluster, { name: 'disk' });
  createPod();
  await untilAttached();
  reportInUse(unique);
  await eventually(() => controller.times.get('disk')?.inUseMs).toBeDefined();
  mounted.add('disk');
  await eventually(() => controller.times.get('disk')?.mountedMs).toBeDefined();
  deletePod();
  await eventually(() => controller.times.get('disk')?.unwantedMs).toBeDefined();
  reportInUse();
  await eventually(found).toBeUndefined();
  expect(controller.violations).toEqual([
    'disk: mounted while the node does not report it as in use',
    'disk: still mounted when it was detached',
  ]);
  mounted.clear();
  controller.violations.length = 0;
  createPod();
  await untilAttached();
  reportInUse(unique);
  await eventually(() => controller.times.get('disk')?.inUseMs).toBeDefined();
  mounted.add('disk');
  await eventually(() => controller.times.get('disk')?.mountedMs).toBeDefined();
  deletePod();
  mounted.clear();
  await expect
    .poll(() => Date.now() - (controller.times.get('disk')?.unmountedMs ?? Date.now()))
    .toBeGreaterThan(150);
  reportInUse();
  await eventually(found).toBeUndefined();
  expect(controller.violations).toEqual([
    expect.stringMatching(/^disk: reported as in use for \d+ ms after its unmount$/),
  ]);
});
