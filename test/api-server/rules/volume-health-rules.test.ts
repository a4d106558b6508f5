// What the double permits and keeps of the health of volumes and storage, with the gate CSIVolumeHealth and without.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CSINode, Pod, PodVolumeHealth } from '../../../src/api/k8s/types.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiServerDouble, nodeUser } from '../double.ts';
import { memoryClient } from '../memory-client.ts';

const { signal } = new AbortController();
const options = { signal };
const nodes = '/apis/storage.k8s.io/v1/csinodes';
const podPath = '/api/v1/namespaces/default/pods/p/status';

function open(CSIVolumeHealth: boolean) {
  const clock = new FakeClock();
  const double = new ApiServerDouble({
    clock,
    schedule: false,
    automount: false,
    gates: { CSIVolumeHealth },
  });
  onTestFinished(() => double.close());
  double.objects.create('nodes', { metadata: { name: 'n1' } });
  double.objects.create('pods', {
    metadata: { name: 'p', namespace: 'default' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v' }] },
  });
  const client = (name: string) => memoryClient(double, clock, nodeUser(name)).client;
  return { double, node: client('n1'), other: client('n2') };
}

async function reason(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no error',
    (err: unknown) => (err instanceof KubeletError ? err.reason : String(err)),
  );
}

const csiNode: CSINode = {
  metadata: { name: 'n1' },
  spec: { drivers: [{ name: 'd', nodeID: 'i', topologyKeys: [] }] },
};
const healthConditions = [{ status: 'StorageDegraded', reason: 'Slow' }];
const status = { storageHealth: [{ name: 'd', healthConditions }] };

describe('csinodes/status', () => {
  test('is written by its own node, and only there', async () => {
    const { node, other } = open(true);
    const created = await node.create<CSINode>(nodes, { ...csiNode, status }, options);
    expect(created.status).toEqual({});
    const written = await node.update<CSINode>(`${nodes}/n1/status`, { ...created, status }, options);
    expect(written.status).toEqual(status);
    const kept = await node.update<CSINode>(`${nodes}/n1`, { ...written, status: {} }, options);
    expect(kept.status).toEqual(status);
    expect(await reason(other.update(`${nodes}/n1/status`, written, options))).toBe('Forbidden');
    expect(await reason(node.get(`${nodes}/n1/status`, options))).toBe('no error');
    expect(await reason(node.delete(`${nodes}/n1/status`, {}, options))).not.toBe('no error');
  });

  test('does not change the drivers', async () => {
    const { node } = open(true);
    const created = await node.create<CSINode>(nodes, csiNode, options);
    const changed = { ...created, spec: { drivers: [] }, status };
    expect(await reason(node.update(`${nodes}/n1/status`, changed, options))).toBe('Forbidden');
  });

  test('is forbidden without the gate', async () => {
    const { node } = open(false);
    const created = await node.create<CSINode>(nodes, csiNode, options);
    expect(await reason(node.update(`${nodes}/n1/status`, { ...created, status }, options))).toBe(
      'Forbidden',
    );
  });

  test.each([
    ['two entries of a driver', { storageHealth: [...status.storageHealth, ...status.storageHealth] }],
    [
      '17 conditions',
      { storageHealth: [{ name: 'd', healthConditions: Array(17).fill(healthConditions[0]) }] },
    ],
    [
      'an unknown status',
      { storageHealth: [{ name: 'd', healthConditions: [{ status: 'X', reason: 'A' }] }] },
    ],
  ])('is invalid with %s', async (_name, invalid) => {
    const { node } = open(true);
    const created = await node.create<CSINode>(nodes, csiNode, options);
    expect(await reason(node.update(`${nodes}/n1/status`, { ...created, status: invalid }, options))).toBe(
      'Invalid',
    );
  });
});

describe('volumeHealth of a pod', () => {
  const entry = (
    ...conditions: { status?: string; reason?: string; message?: string }[]
  ): PodVolumeHealth => ({
    name: 'v',
    healthConditions: conditions.map((each) => ({ status: 'Degraded', reason: 'Slow', ...each })),
  });
  const patch = (health: readonly PodVolumeHealth[], gate = true) =>
    open(gate).node.patch<Pod>(podPath, 'strategic', { status: { volumeHealth: health } }, options);

  test('is kept with the gate, and dropped without', async () => {
    expect((await patch([entry({})])).status?.volumeHealth).toEqual([entry({})]);
    expect((await patch([entry({})], false)).status?.volumeHealth).toBeUndefined();
  });

  test.each([
    ['a volume that the pod does not have', [{ name: 'w' }]],
    ['two entries of a volume', [entry({}), entry({})]],
    ['two conditions of the same status and reason', [entry({}, { message: 'again' })]],
    ['17 conditions', [entry(...Array.from({ length: 17 }, (_, at) => ({ reason: `R${at}` })))]],
    ['an unknown status', [entry({ status: 'Sick' })]],
    ['an empty reason', [entry({ reason: '' })]],
    ['a reason with a space', [entry({ reason: 'too slow' })]],
    ['a long reason', [entry({ reason: 'r'.repeat(257) })]],
    ['a long message', [entry({ message: 'ü'.repeat(513) })]],
  ])('is invalid with %s', async (_name, health) => {
    expect(await reason(patch(health))).toBe('Invalid');
  });
});
