import { expect, test } from 'vitest';
import { nextSampleMs } from './next-sample.ts';

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
