// Sums up a strip of probe results. Pure.
import type { ProbeRun, ProbeStrip } from '../../src/api/ports/node-page.ts';
import { duration, plural } from '../text/format.ts';

interface ProbeBlock {
  readonly run: ProbeRun;
  /** Share of the strip; a long run does not squeeze short ones to nothing. */
  readonly grow: number;
  readonly widestPx: number;
}

/** The most that a single result takes, so that few results make a short strip. */
const widestResultPx = 12;

export function blocksOf({ runs }: ProbeStrip): readonly ProbeBlock[] {
  return runs.map((run) => {
    const count = Math.max(1, run.count);
    return { run, grow: Math.sqrt(count), widestPx: count * widestResultPx };
  });
}

export function summaryOf({ periodSeconds, runs }: ProbeStrip): string {
  const counted = (result: ProbeRun['result']) =>
    runs.reduce((sum, run) => sum + (run.result === result ? run.count : 0), 0);
  const [failed, unknown] = [counted('failure'), counted('unknown')];
  const all = runs.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return `No result yet; runs every ${periodSeconds} s`;
  const slowest = runs.reduce((most, { slowestMs }) => Math.max(most, slowestMs), 0);
  const parts = [
    `${plural(all, 'run')}, every ${periodSeconds} s`,
    failed === 0 ? 'none failed' : `${failed} failed`,
  ];
  if (unknown > 0) parts.push(`${unknown} without a result`);
  parts.push(`slowest ${duration(slowest)}`);
  return parts.join(' · ');
}

/** The output of the newest failure. */
export function lastFailure({ runs }: ProbeStrip): ProbeRun | undefined {
  return runs.findLast(({ output, result }) => result === 'failure' && output !== undefined && output !== '');
}

export function toneOf({ runs }: ProbeStrip): 'good' | 'bad' | 'done' {
  const last = runs.at(-1)?.result;
  if (last === undefined || last === 'unknown') return 'done';
  return last === 'success' ? 'good' : 'bad';
}
