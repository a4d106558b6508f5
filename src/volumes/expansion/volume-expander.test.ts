import { describe, expect, test } from 'vitest';
import {
  aClaim,
  aPendingClaim,
  aPersistentVolume,
  ExpansionRig,
  expandError,
} from '../../../test/builders/expansion-rig.ts';
import type { PersistentVolumeClaim } from '../../api/k8s/types.ts';
import type { ExpandFailure } from '../plugin.ts';

const small = { claim: aClaim({ requested: '1G' }), volume: aPersistentVolume('1G') };

/** A volume of 1G that the pod p uses, whose claim and persistent volume have changed since. */
async function mountedRig(claim = aPendingClaim(), volume = aPersistentVolume()): Promise<ExpansionRig> {
  const rig = new ExpansionRig(small.claim, small.volume);
  await rig.mount();
  rig.claim = claim;
  rig.volume = volume;
  return rig;
}

interface Row {
  readonly claim: PersistentVolumeClaim;
  readonly fails?: ExpandFailure;
  /** Whether the volume is mounted, with a known size of 1G. Default: it is being set up. */
  readonly isMounted?: true;
  readonly want: string;
}

async function outcome({ claim, fails, isMounted }: Row): Promise<string> {
  const rig = isMounted ? await mountedRig(claim) : new ExpansionRig(claim);
  if (fails !== undefined) rig.answer = () => Promise.reject(expandError(fails));
  const { kind } = await rig.expand({ isMounted: isMounted === true });
  return `${kind}, ${rig.sizes.length} calls, ${rig.summary()}`;
}

const failed = { status: 'NodeResizeInfeasible', conditions: [] };
const pending = aPendingClaim({ conditions: [] });
const done = { allocated: '2G', capacity: '2G' };
const shared = { ...done, modes: ['ReadWriteMany'] };
const annotations = { 'volume.kubernetes.io/node-expansion-not-required': 'true' };

// The rows of TestNodeExpander. Their feature gate is locked on by now; the rows with it off expect the same.
const nodeExpander: readonly (readonly [string, Row])[] = [
  [
    'the node has failed before',
    { claim: aClaim(failed), want: 'unchanged, 0 calls, 1G NodeResizeInfeasible' },
  ],
  ['the node is next', { claim: pending, want: 'expanded, 1 calls, 2G -' }],
  [
    'the expansion is infeasible',
    { claim: pending, fails: 'infeasible', want: 'failed, 1 calls, 1G NodeResizeInfeasible NodeResizeError' },
  ],
  [
    'the expansion fails for another reason',
    { claim: pending, fails: 'final', want: 'failed, 1 calls, 1G NodeResizeInProgress NodeResizeError' },
  ],
  ['the volume has its size', { claim: aClaim(done), isMounted: true, want: 'unchanged, 0 calls, 2G -' }],
  [
    'another node has expanded a shared volume',
    { claim: aClaim(shared), isMounted: true, want: 'expanded, 1 calls, 2G -' },
  ],
  [
    'another node has expanded a shared volume, and the driver cannot expand on nodes',
    { claim: aClaim(shared), isMounted: true, fails: 'unsupported', want: 'unchanged, 1 calls, 2G -' },
  ],
  [
    'a shared volume that needs no expansion on nodes',
    { claim: aClaim({ ...shared, annotations }), isMounted: true, want: 'unchanged, 0 calls, 2G -' },
  ],
];

// The rows of TestOperationGenerator_nodeExpandVolume, and the one of TestExpandDuringMount.
const nodeExpandVolume: readonly (readonly [string, Row])[] = [
  [
    'the node has failed before',
    { claim: aClaim(failed), isMounted: true, want: 'unchanged, 0 calls, 1G NodeResizeInfeasible' },
  ],
  ['the node is next', { claim: pending, isMounted: true, want: 'expanded, 1 calls, 2G -' }],
  [
    'the expansion is infeasible',
    {
      claim: pending,
      isMounted: true,
      fails: 'infeasible',
      want: 'failed, 1 calls, 1G NodeResizeInfeasible NodeResizeError',
    },
  ],
  ['the claim has the size of the volume', { claim: aClaim(done), want: 'unchanged, 0 calls, 2G -' }],
  [
    'the claim has the size, the known one is smaller',
    { claim: aClaim(done), isMounted: true, want: 'unchanged, 0 calls, 2G -' },
  ],
  [
    'the claim has the size, the node has failed, the known size is smaller',
    {
      claim: aClaim({ ...done, ...failed }),
      isMounted: true,
      want: 'unchanged, 0 calls, 2G NodeResizeInfeasible',
    },
  ],
  ['the node is next during a mount', { claim: pending, want: 'expanded, 1 calls, 2G -' }],
];

// Each class of a driver's answer, by resizer and time.
const answers: readonly (readonly [string, Row])[] = [
  [
    'precondition, set-up',
    {
      claim: pending,
      fails: 'precondition',
      want: 'unchanged, 1 calls, 1G NodeResizeInProgress NodeResizeError',
    },
  ],
  [
    'precondition, mounted',
    {
      claim: pending,
      isMounted: true,
      fails: 'precondition',
      want: 'unchanged, 1 calls, 1G NodeResizeInProgress NodeResizeError',
    },
  ],
  [
    'uncertain, set-up',
    { claim: pending, fails: 'uncertain', want: 'failed, 1 calls, 1G NodeResizeInProgress' },
  ],
  [
    'uncertain, mounted',
    { claim: pending, isMounted: true, fails: 'uncertain', want: 'failed, 1 calls, 1G NodeResizeInProgress' },
  ],
  [
    'unsupported by the driver that is next',
    {
      claim: pending,
      fails: 'unsupported',
      want: 'failed, 1 calls, 1G NodeResizeInProgress NodeResizeError',
    },
  ],
  [
    'infeasible for one more node of a shared volume: the claim stays expanded',
    {
      claim: aClaim(shared),
      isMounted: true,
      fails: 'infeasible',
      want: 'failed, 1 calls, 2G - NodeResizeError',
    },
  ],
  ['success, old resizer', { claim: aClaim(), want: 'expanded, 1 calls, 2G -' }],
  ['success, old resizer, mounted', { claim: aClaim(), isMounted: true, want: 'expanded, 1 calls, 2G -' }],
  ['unsupported, old resizer', { claim: aClaim(), fails: 'unsupported', want: 'unchanged, 1 calls, 1G -' }],
  ['precondition, old resizer', { claim: aClaim(), fails: 'precondition', want: 'unchanged, 1 calls, 1G -' }],
  ['infeasible, old resizer', { claim: aClaim(), fails: 'infeasible', want: 'failed, 1 calls, 1G -' }],
];

describe.each([
  ['as the node expander', nodeExpander],
  ['as the operation generator', nodeExpandVolume],
  ['by the answer of the driver', answers],
])('%s', (_, rows) => {
  test.each(rows)('%s', async (_name, row) => expect(await outcome(row)).toBe(row.want));
});

describe('what is reported', () => {
  const succeeded =
    'Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv" node1';

  test('a success to the pod and the claim; after set-up it has no duration of its own', async () => {
    const rig = new ExpansionRig();
    expect(await rig.expand()).toMatchObject({ kind: 'expanded' });
    expect(rig.events).toEqual([`p ${succeeded}`, `PersistentVolumeClaim/claim ${succeeded}`]);
    expect(rig.observed).toEqual([]);
  });

  test('the duration of the expansion of a mounted volume', async () => {
    const rig = await mountedRig();
    await rig.expand({ isMounted: true });
    expect(rig.observed).toEqual(['kubernetes.io/csi:driver volume_fs_resize done']);
  });

  test('read-only use to the pod and the claim, which stays as it was', async () => {
    const rig = new ExpansionRig();
    expect(await rig.expand({ spec: { readOnly: true } })).toEqual({ kind: 'unchanged' });
    const readOnly =
      'Warning FileSystemResizeFailed MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system';
    expect(rig.events).toEqual([`p ${readOnly}`, `PersistentVolumeClaim/claim ${readOnly}`]);
    expect([rig.sizes, rig.patches]).toEqual([[], []]);
  });

  test('a failure after set-up is left to the caller, which fails the mount', async () => {
    const rig = new ExpansionRig();
    rig.answer = () => Promise.reject(expandError('final', 'boom'));
    expect(await rig.expand()).toMatchObject({
      failure: {
        event: {
          reason: 'FailedMount',
          message: 'MountVolume.Setup failed while expanding volume for volume "pv" : boom',
        },
      },
    });
    expect(rig.events).toEqual([]);
    expect(rig.claim.status?.conditions).toEqual([
      { type: 'FileSystemResizePending', status: 'True', message: 'earlier' },
      {
        type: 'NodeResizeError',
        status: 'True',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        message: 'failed to expand pvc with boom',
      },
    ]);
  });

  test('a failure of a mounted volume to the pod', async () => {
    const rig = await mountedRig();
    rig.answer = () => Promise.reject(expandError('uncertain', 'boom'));
    await rig.expand({ isMounted: true });
    expect(rig.events).toEqual([
      'p Warning VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv" : boom',
    ]);
    expect(rig.observed).toEqual(['kubernetes.io/csi:driver volume_fs_resize failed']);
  });
});

describe('the plugin', () => {
  test('gets the path of the containers, the size in bytes and the claim as it is now', async () => {
    const rig = new ExpansionRig(aPendingClaim({ allocated: '1500M' }));
    await rig.expand();
    expect(rig.requests).toMatchObject([
      { path: '/volume', sizeBytes: 1_500_000_000n, spec: { claim: { metadata: { resourceVersion: '2' } } } },
    ]);
  });

  test('has ten minutes at most, after which the expansion is uncertain', async () => {
    const rig = await mountedRig();
    rig.answer = () => new Promise(() => undefined);
    const plugin = { ...rig.plugin, deadlineMs: Number.POSITIVE_INFINITY };
    const request = { ...rig.request({ isMounted: true }), plugin };
    const work = rig.expander.expand(request, new AbortController().signal);
    expect(await rig.clock.until(work)).toMatchObject({ kind: 'failed' });
    expect([rig.clock.monotonic(), rig.summary()]).toEqual([
      600_000,
      '1G NodeResizeInProgress FileSystemResizePending',
    ]);
    expect(rig.clock.pendingTimers()).toBe(0);
  });

  const never = [
    ['a volume of the pod itself', { persistent: undefined, claim: undefined }],
    ['a migrated volume of the pod itself', { claim: undefined, isMigrated: true }],
  ] as const;
  test.each(never)('is not called for %s', async (_, spec) => {
    const rig = new ExpansionRig();
    expect(await rig.expand({ spec })).toEqual({ kind: 'unchanged' });
    expect([rig.reads, rig.sizes]).toEqual([0, []]);
  });

  test('is not called if the node has no part in the expansion', async () => {
    const rig = new ExpansionRig();
    const { expansion: _, ...plugin } = rig.plugin;
    const expand = (): Promise<bigint> => Promise.resolve(BigInt(rig.sizes.push(0n)));
    const inapplicable = { ...plugin, expansion: { expand, applies: () => false } };
    for (const each of [plugin, inapplicable])
      await rig.expander.expand({ ...rig.request(), plugin: each }, new AbortController().signal);
    expect([rig.reads, rig.sizes]).toEqual([0, []]);
  });
});

test('a volume that has its size costs no request', async () => {
  const rig = new ExpansionRig(small.claim, small.volume);
  await rig.mount();
  expect(rig.expander.isDue(rig.request({ isMounted: true }))).toBe(false);
  await rig.expand({ isMounted: true });
  expect([rig.reads, rig.patches]).toEqual([0, []]);
});

test('a mounted volume is due when its persistent volume has grown', async () => {
  const rig = await mountedRig();
  expect(rig.expander.isDue(rig.request({ isMounted: true }))).toBe(true);
  await rig.expand({ isMounted: true });
  expect(rig.expander.isDue(rig.request({ isMounted: true }))).toBe(false);
});
