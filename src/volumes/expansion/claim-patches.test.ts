import { describe, expect, test } from 'vitest';
import { aClaim, aPendingClaim } from '../../../test/builders/expansion-rig.ts';
import type { PersistentVolumeClaim } from '../../api/k8s/types.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { failedPatch, finishedPatch, inProgressPatch } from './claim-patches.ts';

const nowMs = Date.parse('2026-01-01T00:00:07.9Z');
const metadata = { resourceVersion: '1' };
const size = Quantity.parse('2G');

function withStatus(over: PersistentVolumeClaim['status']): PersistentVolumeClaim {
  const claim = aPendingClaim();
  return { ...claim, status: { ...claim.status, ...over } };
}

describe('inProgressPatch', () => {
  test('changes the status of the storage only, and only if the claim is still the same', () => {
    const claim = withStatus({ allocatedResourceStatuses: { storage: 'NodeResizePending', other: 'X' } });
    expect(inProgressPatch(claim)).toEqual({
      metadata,
      status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
    });
  });

  test('is empty if the status is in progress already', () =>
    expect(inProgressPatch(aPendingClaim({ status: 'NodeResizeInProgress' }))).toBeUndefined());
});

describe('finishedPatch', () => {
  test('sets the capacity and removes the status and all conditions of the expansion', () => {
    const conditions = ['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'];
    expect(finishedPatch(aPendingClaim({ conditions }), size)).toEqual({
      metadata,
      status: { allocatedResourceStatuses: null, capacity: { storage: '2G' }, conditions: null },
    });
  });

  // Upstream: the row "mark resize finished" of TestResizeFunctions.
  test('keeps the statuses of other resources and the conditions of others', () => {
    const claim = withStatus({
      allocatedResourceStatuses: { storage: 'NodeResizePending', cpu: 'ControllerResizeInfeasible' },
      conditions: [
        { type: 'Resizing', status: 'True' },
        { type: 'ModifyVolumeError', status: 'True' },
      ],
    });
    expect(finishedPatch(claim, size)).toEqual({
      metadata,
      status: {
        allocatedResourceStatuses: { storage: null },
        capacity: { storage: '2G' },
        '$setElementOrder/conditions': [{ type: 'ModifyVolumeError' }],
        conditions: [{ $patch: 'delete', type: 'Resizing' }],
      },
    });
  });

  test('sets the capacity alone for an old resizer', () =>
    expect(finishedPatch(aClaim(), size)).toEqual({ metadata, status: { capacity: { storage: '2G' } } }));
});

describe('failedPatch', () => {
  const failed = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: '2026-01-01T00:00:07Z',
    message: 'why',
  };
  const failure = { message: 'why', isInfeasible: false, nowMs };

  // Upstream: the row "when adding new condition with existing resize conditions" of TestMergeResizeCondition.
  test('adds the condition, keeps the others, and applies to whatever version the claim has', () =>
    expect(failedPatch(aPendingClaim({ conditions: ['Resizing'] }), failure)).toEqual({
      metadata: { uid: 'uid-claim' },
      status: {
        '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'NodeResizeError' }],
        conditions: [failed],
      },
    }));

  test('ends the expansion if the size is not available', () =>
    expect(failedPatch(aPendingClaim({ conditions: [] }), { ...failure, isInfeasible: true })).toEqual({
      metadata: { uid: 'uid-claim' },
      status: { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' }, conditions: [failed] },
    }));

  test('updates the message of a condition that is True and keeps its time', () =>
    expect(failedPatch(withStatus({ conditions: [{ ...failed, message: 'before' }] }), failure)).toEqual({
      metadata: { uid: 'uid-claim' },
      status: {
        '$setElementOrder/conditions': [{ type: 'NodeResizeError' }],
        conditions: [{ type: 'NodeResizeError', message: 'why' }],
      },
    }));

  // Upstream: the row "adding same condition but with different status".
  test('replaces the time of a condition that was False', () => {
    const before = { ...failed, status: 'False', lastTransitionTime: '2025-01-01T00:00:00Z' };
    expect(failedPatch(withStatus({ conditions: [before] }), failure)?.['status']).toMatchObject({
      conditions: [{ type: 'NodeResizeError', status: 'True', lastTransitionTime: '2026-01-01T00:00:07Z' }],
    });
  });

  test('is empty if the same failure is recorded already', () =>
    expect(failedPatch(withStatus({ conditions: [failed] }), failure)).toBeUndefined());
});
