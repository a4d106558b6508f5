import { describe, expect, test } from 'vitest';
import type { ProbeRun, ProbeStrip } from '../../src/api/ports/node-page.ts';
import { blocksOf, lastFailure, summaryOf, toneOf } from './probe-blocks.ts';

function run(result: ProbeRun['result'], count: number, over: Partial<ProbeRun> = {}): ProbeRun {
  return { result, count, firstMs: 0, lastMs: 1, slowestMs: 5, ...over };
}

function strip(...runs: readonly ProbeRun[]): ProbeStrip {
  return { container: 'app', kind: 'readiness', periodSeconds: 10, runs };
}

describe('a strip of probe results', () => {
  test('is summed up in words', () => {
    expect(summaryOf(strip(run('success', 98), run('failure', 2, { slowestMs: 1_000 })))).toBe(
      '100 runs, every 10 s · 2 failed · slowest 1.00 s',
    );
    expect(summaryOf(strip(run('success', 1), run('unknown', 3)))).toBe(
      '4 runs, every 10 s · none failed · 3 without a result · slowest 5 ms',
    );
    expect(summaryOf(strip())).toBe('No result yet; runs every 10 s');
  });

  test('gives a long run more room, but leaves some for short ones', () => {
    expect(blocksOf(strip(run('success', 100), run('failure', 1))).map(({ grow }) => grow)).toEqual([10, 1]);
  });

  test('makes a short strip of few results', () => {
    expect(blocksOf(strip(run('failure', 2))).map(({ widestPx }) => widestPx)).toEqual([24]);
  });

  test('shows the output of the newest failure', () => {
    const runs = [
      run('failure', 1, { output: 'old' }),
      run('failure', 1, { output: 'new' }),
      run('success', 1),
    ];
    expect(lastFailure(strip(...runs))?.output).toBe('new');
    expect(lastFailure(strip(run('success', 1)))).toBeUndefined();
  });

  test('has the tone of its last result', () => {
    expect([toneOf(strip()), toneOf(strip(run('success', 1))), toneOf(strip(run('failure', 1)))]).toEqual([
      'done',
      'good',
      'bad',
    ]);
  });
});
