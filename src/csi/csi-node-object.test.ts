import { expect, test } from 'vitest';
import type { CSINode } from '../api/k8s/types.ts';
import {
  allocatableCount,
  isOwnedBy,
  needsRemovalFirst,
  newCsiNode,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from './csi-node-object.ts';
import type { DriverInfo } from './driver-info.ts';

const info = (changes: Partial<DriverInfo> = {}): DriverInfo => ({
  driver: 'd',
  nodeId: 'i-1',
  maxVolumes: 0n,
  topology: {},
  ...changes,
});
const empty = newCsiNode('n', 'uid-1');
const installed = withDriver(empty, info({ maxVolumes: 5n, topology: { zone: 'a', region: 'r' } }));

test('a new object belongs to its Node and names the migrated plugins', () => {
  expect(empty).toEqual({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: {
      name: 'n',
      annotations: {
        'storage.alpha.kubernetes.io/migrated-plugins':
          'kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'uid-1' }],
    },
    spec: { drivers: [] },
  });
  expect([
    isOwnedBy(empty, 'n', 'uid-1'),
    isOwnedBy(empty, 'n', 'uid-2'),
    isOwnedBy(empty, 'm', 'uid-1'),
  ]).toEqual([true, false, false]);
});

test('a driver is added with sorted topology keys, after the others', () => {
  expect(installed.spec.drivers).toEqual([
    { name: 'd', nodeID: 'i-1', topologyKeys: ['region', 'zone'], allocatable: { count: 5 } },
  ]);
  const second = withDriver(installed, info({ driver: 'e' }));
  expect(second.spec.drivers.map(({ name }) => name)).toEqual(['d', 'e']);
  expect(second.spec.drivers[1]).toEqual({ name: 'e', nodeID: 'i-1', topologyKeys: [] });
});

const counts: readonly (readonly [bigint, number | undefined])[] = [
  [0n, undefined],
  [-1n, undefined],
  [-(2n ** 63n), undefined],
  [39n, 39],
  [2n ** 31n - 1n, 2 ** 31 - 1],
  [2n ** 31n, 2 ** 31 - 1],
  [2n ** 63n - 1n, 2 ** 31 - 1],
];
for (const [maxVolumes, want] of counts)
  test(`allocatableCount: ${maxVolumes} → ${want}, and nothing changes the second time`, () => {
    expect(allocatableCount(info({ maxVolumes }))).toBe(want);
    const once = withDriver(empty, info({ maxVolumes }));
    expect(withDriver(once, info({ maxVolumes }))).toBe(once);
  });

const same = { maxVolumes: 5n, topology: { region: 'r', zone: 'a' } };
const changes: readonly (readonly [string, Partial<DriverInfo>, 'kept' | 'updated' | 'replaced'])[] = [
  ['the same answer', same, 'kept'],
  ['other values of the same topology keys', { ...same, topology: { region: 'r', zone: 'b' } }, 'kept'],
  ['another count', { ...same, maxVolumes: 6n }, 'updated'],
  ['no count any more', { ...same, maxVolumes: 0n }, 'updated'],
  ['another node ID', { ...same, nodeId: 'i-2' }, 'replaced'],
  ['another topology key', { ...same, topology: { zone: 'a' } }, 'replaced'],
];
for (const [name, change, want] of changes)
  test(`withDriver: ${name} → ${want}`, () => {
    const after = withDriver(installed, info(change));
    expect(after === installed).toBe(want === 'kept');
    expect(needsRemovalFirst(installed, info(change))).toBe(want === 'replaced');
  });

test('only what is missing of the annotation makes a difference', () => {
  expect(withMigratedPlugins(empty)).toBe(empty);
  const bare: CSINode = { metadata: { name: 'n', annotations: { other: 'x' } }, spec: { drivers: [] } };
  expect(withMigratedPlugins(bare).metadata?.annotations).toEqual({
    ...empty.metadata?.annotations,
    other: 'x',
  });
});

test('a real server returns empty lists as null', () => {
  const stored = { ...empty, spec: { drivers: null } } as unknown as CSINode;
  const first = withDriver(stored, info());
  expect(first.spec.drivers).toHaveLength(1);
  expect([withoutDriver(stored, 'd'), withMigratedPlugins(stored)]).toEqual([stored, stored]);
  const keyless = {
    ...empty,
    spec: { drivers: [{ name: 'd', nodeID: 'i-1', topologyKeys: null }] },
  } as unknown as CSINode;
  expect(withDriver(keyless, info())).toBe(keyless);
});

test('withoutDriver keeps the others, and the object if there is nothing to remove', () => {
  const both = withDriver(installed, info({ driver: 'e' }));
  expect(withoutDriver(both, 'd').spec.drivers.map(({ name }) => name)).toEqual(['e']);
  expect(withoutDriver(both, 'x')).toBe(both);
});
