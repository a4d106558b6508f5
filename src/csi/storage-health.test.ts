import { expect, test } from 'vitest';
import type { CSINode, StorageHealthCondition } from '../api/k8s/types.ts';
import { withStorageHealth } from './storage-health.ts';

const before = '2026-01-01T00:00:00Z';
const now = '2026-01-02T00:00:00Z';
const down: StorageHealthCondition = { status: 'StorageUnreachable', reason: 'NoRoute', message: 'a' };
const slow: StorageHealthCondition = { status: 'StorageDegraded', reason: 'Slow' };
const blockSlow: StorageHealthCondition = { ...slow, accessMode: 'ReadWriteOnce', volumeMode: 'Block' };

const at = (time: string, condition: StorageHealthCondition): StorageHealthCondition => ({
  ...condition,
  lastTransitionTime: time,
});
type Entries = Readonly<Record<string, readonly StorageHealthCondition[]>>;
const csiNode = (entries: Entries): CSINode => ({
  metadata: { name: 'n' },
  spec: { drivers: [{ name: 'd', nodeID: 'i' }] },
  status: {
    storageHealth: Object.entries(entries).map(([name, each]) => ({ name, healthConditions: [...each] })),
  },
});

const changes: readonly (readonly [string, Entries, readonly StorageHealthCondition[], Entries])[] = [
  ['a first condition', {}, [down], { d: [at(now, down)] }],
  ['another driver keeps its entry', { e: [slow] }, [down], { e: [slow], d: [at(now, down)] }],
  [
    'a second condition, the first keeps its time',
    { d: [at(before, down)] },
    [down, slow],
    {
      d: [at(before, down), at(now, slow)],
    },
  ],
  ['the same reason for other volumes', { d: [at(before, slow)] }, [blockSlow], { d: [at(now, blockSlow)] }],
  ['a recovery removes the entry', { d: [at(before, down)], e: [slow] }, [], { e: [slow] }],
];
for (const [name, given, conditions, wanted] of changes)
  test(`withStorageHealth: ${name}`, () => {
    expect(withStorageHealth(csiNode(given), 'd', conditions, now)).toEqual(csiNode(wanted));
  });

const same: readonly (readonly [string, Entries, readonly StorageHealthCondition[]])[] = [
  ['healthy as before', {}, []],
  ['the same condition', { d: [at(before, down)] }, [down]],
  ['another message', { d: [at(before, down)] }, [{ ...down, message: 'b' }]],
  ['another order, or twice', { d: [down, slow] }, [slow, down, slow]],
  ['a recovery of a driver without an entry', { e: [down] }, []],
];
for (const [name, given, conditions] of same)
  test(`withStorageHealth changes nothing: ${name}`, () => {
    const object = csiNode(given);
    expect(withStorageHealth(object, 'd', conditions, now)).toBe(object);
  });

test('withStorageHealth: an object without a status', () => {
  const { status: _, ...object } = csiNode({});
  expect(withStorageHealth(object, 'd', [], now)).toBe(object);
  expect(withStorageHealth(object, 'd', [slow], now)).toEqual(csiNode({ d: [at(now, slow)] }));
});
