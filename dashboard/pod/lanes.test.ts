import { describe, expect, test } from 'vitest';
import type { PodStart, StartStage } from '../../src/api/ports/node-page.ts';
import { layOut } from './lanes.ts';

function start(stages: readonly StartStage[], over: Partial<PodStart> = {}): PodStart {
  return { beginMs: 1_000, from: 'recorded', stages, ...over };
}

describe('layOut', () => {
  const stages: readonly StartStage[] = [
    { stage: 'admit', beginMs: 1_000, endMs: 1_010 },
    { stage: 'pull', container: 'b', beginMs: 1_200, endMs: 1_400 },
    { stage: 'sandbox', beginMs: 1_010, endMs: 1_200 },
    { stage: 'create', container: 'b', beginMs: 1_400, endMs: 1_500 },
    { stage: 'pull', container: 'a', beginMs: 1_300 },
  ];
  const { axis, lanes } = layOut(start(stages), 2_000);

  test('orders the stages of the pod first, then containers as they began', () => {
    expect(lanes.map(({ isFirst, stage }) => [stage.container, stage.stage, isFirst])).toEqual([
      [undefined, 'admit', true],
      [undefined, 'sandbox', false],
      ['b', 'pull', true],
      ['b', 'create', false],
      ['a', 'pull', true],
    ]);
  });

  test('a stage in progress grows until now', () => {
    expect(axis.spanMs).toBe(1_000);
    expect(lanes.at(-1)).toMatchObject({
      inProgress: true,
      left: 0.3,
      width: 0.7,
      tookMs: 700,
      afterMs: 300,
    });
    expect(layOut(start(stages), 3_000).lanes.at(-1)).toMatchObject({ left: 0.15, width: 0.85 });
  });

  test('a bar stays within the axis when clocks were set back', () => {
    const { lanes } = layOut(start([{ stage: 'run', beginMs: 500, endMs: 400 }]), 2_000);
    expect(lanes[0]).toMatchObject({ left: 0, width: 0, tookMs: 0 });
  });

  test.each([
    [1, [0, 0.25, 0.5, 0.75, 1]],
    [730, [0, 200, 400, 600]],
    [1_000, [0, 250, 500, 750, 1_000]],
    [95_000, [0, 25_000, 50_000, 75_000]],
  ])('an axis of %i ms has round marks', (spanMs, want) => {
    expect(layOut(start([], { readyMs: 1_000 + spanMs }), 0).axis.ticks).toEqual(want);
  });
});
