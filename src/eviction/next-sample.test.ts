import { expect, test } from 'vitest';
import { aThreshold, someObservations } from '../../test/builders/eviction.ts';
import { nextPassMs, nextSampleMs, type PassFigures } from './next-sample.ts';

const GiB = 1024 ** 3;
const margin = (availableBytes: number, thresholdBytes: number) => ({ availableBytes, thresholdBytes });

const cases = [
  ['no memory threshold → never', [], Number.POSITIVE_INFINITY],
  ['plenty of memory → the interval of the passes', [margin(64 * GiB, GiB)], 10_000],
  ['8 GiB above the threshold → 2 s', [margin(9 * GiB, GiB)], 2_000],
  ['close to the threshold → ten times a second', [margin(GiB + 1, GiB)], 100],
  ['exactly at the threshold, which is not met yet', [margin(GiB, GiB)], 100],
  ['the closest of several decides', [margin(9 * GiB, GiB), margin(2 * GiB, GiB)], 250],
  ['met: once a second', [margin(0, GiB)], 1_000],
  ['one met, another close: the close one decides', [margin(0, GiB), margin(GiB + 1, GiB)], 100],
  ['one met, another far away: once a second', [margin(0, GiB), margin(64 * GiB, GiB)], 1_000],
] as const;

for (const [name, margins, want] of cases)
  test(`nextSampleMs: ${name}`, () => expect(nextSampleMs(margins)).toBe(want));

const thresholds = [aThreshold('nodefs.available', '10Gi'), aThreshold('pid.available', '100')];
const figures = (atMs: number, nodefs: string, pids = '30k'): PassFigures => ({
  atMs,
  observations: someObservations({ 'nodefs.available': nodefs, 'pid.available': pids }),
});

const passes: readonly [string, PassFigures | undefined, PassFigures, number][] = [
  ['the first pass', undefined, figures(0, '11Gi'), 10_000],
  ['nothing changes', figures(0, '11Gi'), figures(10_000, '11Gi'), 10_000],
  ['space is freed', figures(0, '11Gi'), figures(10_000, '20Gi'), 10_000],
  ['shrinks slowly', figures(0, '100Gi'), figures(10_000, '99Gi'), 10_000],
  ['crossed in 8 s at this rate', figures(0, '28Gi'), figures(10_000, '18Gi'), 4_000],
  ['crossed in an instant', figures(0, '28Gi'), figures(10_000, '10241Mi'), 1_000],
  ['crossed already: the pass acts on it', figures(0, '28Gi'), figures(10_000, '9Gi'), 10_000],
  ['the most urgent resource decides', figures(0, '28Gi', '10100'), figures(10_000, '18Gi', '5100'), 4_000],
  ['processes', figures(0, '50Gi', '10k'), figures(5_000, '50Gi', '4k'), 1_625],
  ['two passes at once', figures(5, '28Gi'), figures(5, '11Gi'), 10_000],
];
test.each(passes)('nextPassMs: %s', (_name, before, now, want) => {
  expect(nextPassMs(before, now, thresholds)).toBe(want);
});
