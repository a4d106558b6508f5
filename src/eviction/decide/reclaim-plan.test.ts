import { describe, expect, test } from 'vitest';
import { aThreshold, someObservations } from '../../../test/builders/eviction.ts';
import { evictionSignals } from '../../api/quantity/eviction-threshold.ts';
import { isReclaimSufficient, reclaimPlan, signalsOf } from './reclaim-plan.ts';
import type { Signal, Threshold } from './thresholds.ts';

test.each([
  ['one', 'nodefs', ['containers', 'images'], ['nodefs', 'imagefs', 'containerfs']],
  ['one', 'imagefs', ['containers', 'images'], ['nodefs', 'imagefs', 'containerfs']],
  ['one', 'containerfs', ['containers', 'images'], ['nodefs', 'imagefs', 'containerfs']],
  ['imagefs', 'nodefs', [], ['nodefs']],
  ['imagefs', 'imagefs', ['containers', 'images'], ['imagefs', 'containerfs']],
  ['imagefs', 'containerfs', ['containers', 'images'], ['imagefs', 'containerfs']],
  ['split', 'nodefs', ['containers'], ['nodefs', 'containerfs']],
  ['split', 'imagefs', ['images'], ['imagefs']],
  ['split', 'containerfs', ['containers'], ['nodefs', 'containerfs']],
] as const)('%s: pressure on %s', (layout, name, steps, shared) => {
  const signals = shared.flatMap((each) => [`${each}.available`, `${each}.inodesFree`]);
  for (const signal of [`${name}.available`, `${name}.inodesFree`] as const) {
    expect(reclaimPlan(signal, layout)).toEqual(steps);
    expect(signalsOf(signal, layout)).toEqual(signals);
  }
});

test.each(['memory.available', 'allocatableMemory.available', 'pid.available'] as const)(
  '%s: nothing to reclaim',
  (signal) => {
    for (const layout of ['one', 'imagefs', 'split'] as const) {
      expect(reclaimPlan(signal, layout)).toEqual([]);
      expect(signalsOf(signal, layout)).toEqual([signal]);
    }
  },
);

test('every signal shares its file system with itself', () => {
  for (const layout of ['one', 'imagefs', 'split'] as const)
    for (const signal of evictionSignals) expect(signalsOf(signal, layout)).toContain(signal);
});

describe('isReclaimSufficient', () => {
  const hard = aThreshold('imagefs.available', '1Gi', { reclaim: '500Mi' });
  const soft = aThreshold('imagefs.available', '3Gi', { graceMs: 60_000 });
  const node = aThreshold('nodefs.available', '1Gi');
  const memory = aThreshold('memory.available', '1Gi');
  const sufficient = (
    rows: Partial<Record<Signal, string>>,
    thresholds: readonly Threshold[] = [hard],
    acting: readonly Threshold[] = [hard],
  ): boolean =>
    isReclaimSufficient({
      signal: 'imagefs.available',
      layout: 'imagefs',
      thresholds,
      acting,
      observations: someObservations(rows),
    });
  test.each([
    ['still below', { 'imagefs.available': '900Mi' }, [hard], [hard], false],
    [
      'above, but the minimum reclaim is not reached',
      { 'imagefs.available': '1.2Gi' },
      [hard],
      [hard],
      false,
    ],
    ['above the minimum reclaim', { 'imagefs.available': '2Gi' }, [hard], [hard], true],
    ['no figure after the reclaim', {}, [hard], [hard], false],
    [
      'memory and another file system are low',
      { 'imagefs.available': '2Gi', 'nodefs.available': '0', 'memory.available': '0' },
      [hard, node, memory],
      [hard, node, memory],
      true,
    ],
    [
      'a soft threshold is within its grace period',
      { 'imagefs.available': '2Gi' },
      [hard, soft],
      [hard],
      true,
    ],
    ['a soft threshold that is acted on', { 'imagefs.available': '2Gi' }, [hard, soft], [hard, soft], false],
    [
      'the inodes of the same file system are low',
      { 'imagefs.available': '2Gi', 'containerfs.inodesFree': '1' },
      [hard, aThreshold('containerfs.inodesFree', '10')],
      [hard],
      false,
    ],
  ])('%s', (_name, rows, thresholds, acting, want) => {
    expect(sufficient(rows, thresholds, acting)).toBe(want);
  });
});
