import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aThreshold, someObservations } from '../../../test/builders/eviction.ts';
import { emptyTracker, type Tracked, type TrackerState, thresholdsMet, trackThresholds } from './met.ts';
import type { Observations } from './observe.ts';
import type { Signal, Threshold } from './thresholds.ts';

const transitionMs = 300_000;
const hard = aThreshold('memory.available', '1Gi', { reclaim: '500Mi' });
const soft = aThreshold('memory.available', '2Gi', { graceMs: 60_000 });
const disk = aThreshold('nodefs.available', '1Gi');
const images = aThreshold('imagefs.available', '1Gi');
const processes = aThreshold('pid.available', '1k');
const allocatable = aThreshold('allocatableMemory.available', '1Gi');

/** Runs passes in turn; a figure is newer in each pass unless its time is given. */
class Passes {
  readonly #thresholds: readonly Threshold[];
  #state: TrackerState = emptyTracker;
  #figures = 0;

  constructor(...thresholds: Threshold[]) {
    this.#thresholds = thresholds;
  }

  at(nowMs: number, rows: Partial<Record<Signal, string>>, atMs?: number): Omit<Tracked, 'state'> {
    this.#figures += 1_000;
    const observations = someObservations(rows, atMs ?? this.#figures);
    const input = { thresholds: this.#thresholds, observations, nowMs, transitionMs };
    const { state, ...result } = trackThresholds(this.#state, input);
    this.#state = state;
    return result;
  }
}

describe('grace periods', () => {
  test('a hard threshold acts at once', () => {
    expect(new Passes(hard).at(0, { 'memory.available': '500Mi' })).toEqual({
      acting: [hard],
      conditions: ['MemoryPressure'],
    });
  });

  test('a soft threshold sets its condition at once, and acts when its grace period ends', () => {
    const passes = new Passes(soft);
    const low = { 'memory.available': '1500Mi' };
    expect(passes.at(0, low)).toEqual({ acting: [], conditions: ['MemoryPressure'], nextCheckMs: 60_000 });
    expect(passes.at(59_999, low)).toEqual({
      acting: [],
      conditions: ['MemoryPressure'],
      nextCheckMs: 60_000,
    });
    expect(passes.at(60_000, low)).toEqual({ acting: [soft], conditions: ['MemoryPressure'] });
  });

  test('a soft threshold that recovers in time starts its grace period again', () => {
    const passes = new Passes(soft);
    passes.at(0, { 'memory.available': '1500Mi' });
    expect(passes.at(50_000, { 'memory.available': '3Gi' }).acting).toEqual([]);
    expect(passes.at(70_000, { 'memory.available': '1500Mi' })).toEqual({
      acting: [],
      conditions: ['MemoryPressure'],
      nextCheckMs: 130_000,
    });
  });

  test('a lost figure neither acts nor restarts the grace period nor clears the condition', () => {
    const passes = new Passes(soft);
    passes.at(0, { 'memory.available': '1500Mi' });
    expect(passes.at(400_000, {})).toEqual({ acting: [], conditions: ['MemoryPressure'] });
    expect(passes.at(400_001, { 'memory.available': '1500Mi' }).acting).toEqual([soft]);
  });

  test('a threshold that was not met does not become met by a lost figure', () => {
    const passes = new Passes(hard);
    passes.at(0, { 'memory.available': '3Gi' });
    expect(passes.at(1, {})).toEqual({ acting: [], conditions: [] });
  });

  test('a threshold that was met no longer counts when it is removed', () => {
    const met = someObservations({ 'memory.available': '0' });
    const shared = { observations: met, transitionMs };
    const first = trackThresholds(emptyTracker, { ...shared, thresholds: [hard], nowMs: 0 });
    const second = trackThresholds(first.state, { ...shared, thresholds: [], nowMs: 1 });
    expect(second.acting).toEqual([]);
    expect(second.state.metSinceMs.size).toBe(0);
  });
});

describe('minimum reclaim', () => {
  test('a hard threshold acts until its minimum reclaim is reached', () => {
    const passes = new Passes(hard);
    expect(passes.at(0, { 'memory.available': '1.2Gi' }).acting).toEqual([]);
    expect(passes.at(1, { 'memory.available': '500Mi' }).acting).toEqual([hard]);
    expect(passes.at(2, { 'memory.available': '1.2Gi' }).acting).toEqual([hard]);
    expect(passes.at(3, { 'memory.available': '1.5Gi' }).acting).toEqual([]);
    expect(passes.at(4, { 'memory.available': '1.2Gi' }).acting).toEqual([]);
  });

  test('a soft threshold within its grace period has no minimum reclaim yet', () => {
    const both = aThreshold('memory.available', '2Gi', { graceMs: 60_000, reclaim: '1Gi' });
    const passes = new Passes(both);
    passes.at(0, { 'memory.available': '1Gi' });
    expect(passes.at(1_000, { 'memory.available': '2.5Gi' }).nextCheckMs).toBe(transitionMs);
  });
});

describe('conditions', () => {
  test('are reported until the transition period after the last observation ends', () => {
    const passes = new Passes(hard);
    passes.at(0, { 'memory.available': '0' });
    passes.at(10_000, { 'memory.available': '0' });
    const clear = { 'memory.available': '4Gi' };
    expect(passes.at(20_000, clear)).toEqual({
      acting: [],
      conditions: ['MemoryPressure'],
      nextCheckMs: 310_000,
    });
    expect(passes.at(309_999, clear).conditions).toEqual(['MemoryPressure']);
    expect(passes.at(310_000, clear)).toEqual({ acting: [], conditions: [] });
  });

  test('are in the order in which the Node reports them', () => {
    const rows = { 'pid.available': '1', 'nodefs.available': '0', 'memory.available': '0' };
    expect(new Passes(processes, disk, hard).at(0, rows).conditions).toEqual([
      'MemoryPressure',
      'DiskPressure',
      'PIDPressure',
    ]);
  });

  test('the next check is the earliest end of a grace or transition period', () => {
    const passes = new Passes(soft, disk);
    passes.at(0, { 'nodefs.available': '0', 'memory.available': '4Gi' });
    const rows = { 'nodefs.available': '4Gi', 'memory.available': '1Gi' };
    expect(passes.at(200_000, rows).nextCheckMs).toBe(260_000);
    expect(passes.at(250_000, rows).nextCheckMs).toBe(260_000);
    expect(passes.at(260_000, rows).nextCheckMs).toBe(300_000);
  });
});

describe('order', () => {
  const low = {
    'memory.available': '0',
    'allocatableMemory.available': '0',
    'nodefs.available': '0',
    'imagefs.available': '0',
    'pid.available': '0',
  } as const;
  test.each([
    ['nothing', [], []],
    ['memory first', [disk, processes, hard], [hard, disk, processes]],
    ['allocatable memory first', [disk, processes, allocatable], [allocatable, disk, processes]],
    ['memory before allocatable memory', [allocatable, disk, hard], [hard, allocatable, disk]],
    ['otherwise the order of the configuration', [images, disk], [images, disk]],
    ['otherwise the order of the configuration, reversed', [disk, images], [disk, images]],
    ['a threshold that is configured twice counts once', [disk, { ...disk }], [disk]],
  ])('%s', (_name, thresholds, want) => {
    expect(new Passes(...thresholds).at(0, low).acting).toEqual(want);
  });
});

describe('figures', () => {
  const low = { 'imagefs.available': '0' };
  const second = (firstAtMs: number, secondAtMs: number): readonly Threshold[] => {
    const passes = new Passes(images);
    passes.at(0, low, firstAtMs);
    return passes.at(1, low, secondAtMs).acting;
  };
  test.each([
    ['the same figure does not act twice', 1_000, 1_000, []],
    ['an older one acts: the wall clock was stepped back', 60_000, 1_000, [images]],
    ['a newer one acts', 1_000, 1_001, [images]],
    ['one without a time acts', 1_000, 0, [images]],
  ])('%s', (_name, first, next, want) => {
    expect(second(first, next)).toEqual(want);
  });

  test('a figure that reappears unchanged does not act twice', () => {
    const passes = new Passes(images);
    passes.at(0, low, 1_000);
    passes.at(1, {}, 2_000);
    expect(passes.at(2, low, 1_000).acting).toEqual([]);
  });
});

test('acts only on thresholds that are met with their minimum reclaim, reports a condition for each, and wakes in the future', () => {
  const thresholds = [hard, soft, disk, images, processes, allocatable];
  const signals = [...new Set(thresholds.map(({ signal }) => signal))];
  const pass = fc.record({
    stepMs: fc.integer({ min: 0, max: 200_000 }),
    figures: fc.array(
      fc.record({
        signal: fc.constantFrom(...signals),
        available: fc.constantFrom(0, 500, 2 ** 30, 1.2 * 2 ** 30, 1.6 * 2 ** 30, 3 * 2 ** 30),
        atMs: fc.integer({ min: 0, max: 10 }),
      }),
    ),
  });
  fc.assert(
    fc.property(fc.array(pass, { maxLength: 12 }), (passes) => {
      let state = emptyTracker;
      let nowMs = 0;
      for (const { figures, stepMs } of passes) {
        nowMs += stepMs;
        const observations: Observations = new Map(
          figures.map(({ atMs, available, signal }) => [
            signal,
            { available: Math.floor(available), capacity: 2 ** 40, atMs },
          ]),
        );
        const before = state;
        const result = trackThresholds(state, { thresholds, observations, nowMs, transitionMs });
        state = result.state;
        const possible = thresholdsMet(thresholds, observations, true);
        expect(possible).toEqual(expect.arrayContaining([...result.acting]));
        if (result.acting.length > 0) expect(result.conditions).not.toEqual([]);
        if (result.nextCheckMs !== undefined) expect(result.nextCheckMs).toBeGreaterThan(nowMs);
        expect(trackThresholds(before, { thresholds, observations, nowMs, transitionMs })).toEqual(result);
      }
    }),
  );
});
