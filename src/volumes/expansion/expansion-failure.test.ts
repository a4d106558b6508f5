import { describe, expect, test } from 'vitest';
import { aClaim, expandError } from '../../../test/builders/expansion-rig.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import {
  claimReference,
  expandFailureOf,
  mountedExpansionFailure,
  setUpExpansionFailure,
} from './expansion-failure.ts';

describe('expandFailureOf', () => {
  const wrap = (cause: unknown): KubeletError => new KubeletError('internal', 'R', 'outer', { cause });
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['as the plugin states it', expandError('infeasible'), 'infeasible'],
    ['as the plugin states it, wrapped', wrap(wrap(expandError('precondition'))), 'precondition'],
    ['a wrapped uncertain error is not final', wrap(expandError('uncertain')), 'uncertain'],
    ['a deadline', new KubeletError('timeout', 'DeadlineExceeded', 'm'), 'uncertain'],
    ['a wrapped deadline', wrap(new KubeletError('timeout', 'DeadlineExceeded', 'm')), 'uncertain'],
    ['a plugin that is absent', new KubeletError('unavailable', 'R', 'm'), 'uncertain'],
    ['an abort', wrap(new Aborted('stop')), 'uncertain'],
    [
      'a timeout that the plugin states to be final',
      new KubeletError('timeout', 'R', 'm', { details: { expansion: 'final' } }),
      'final',
    ],
    ['any other error', new KubeletError('invalid', 'R', 'm'), 'final'],
    ['an unknown statement', new KubeletError('invalid', 'R', 'm', { details: { expansion: 'x' } }), 'final'],
    ['something that is no error', 'text', 'final'],
  ];
  test.each(cases)('%s', (_, err, want) => expect(expandFailureOf(err)).toBe(want));

  test('ends for an error that causes itself', () => {
    const err = new KubeletError('internal', 'R', 'm');
    Object.defineProperty(err, 'cause', { value: err });
    expect(expandFailureOf(err)).toBe('final');
  });
});

describe('the reported failures have the words and reasons of upstream', () => {
  const err = expandError('final', 'boom');
  const cases = [
    [
      'of a file system after set-up',
      setUpExpansionFailure({ directoryName: 'pv', isBlock: false }, err),
      'FailedMount MountVolume.Setup failed while expanding volume for volume "pv" : boom',
    ],
    [
      'of a device after set-up',
      setUpExpansionFailure({ directoryName: 'pv', isBlock: true }, err),
      'FailedMapVolume MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "pv" : boom',
    ],
    [
      'of a mounted volume',
      mountedExpansionFailure({ directoryName: 'pv', isBlock: false }, err),
      'VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv" : boom',
    ],
  ] as const;
  test.each(cases)('%s', (_, { event, failure }, want) => {
    expect(`${event.reason} ${event.message}`).toBe(want);
    expect(failure.message).toBe(event.message);
  });
});

test('events on the claim refer to it', () =>
  expect(claimReference(aClaim())).toEqual({
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    namespace: 'default',
    name: 'claim',
    uid: 'uid-claim',
    resourceVersion: '1',
  }));
