import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { aThreshold } from '../../../test/builders/eviction.ts';
import { evictionGraceSeconds, immediateGraceSeconds } from './grace.ts';

const hard = aThreshold('memory.available', '1Gi');
const soft = aThreshold('memory.available', '2Gi', { graceMs: 1_000 });
const { terminationGracePeriodSeconds: _, ...spec } = aPod().spec ?? { containers: [] };
const unset = { ...aPod(), spec };
const own = (terminationGracePeriodSeconds: number): ReturnType<typeof aPod> =>
  aPod({ terminationGracePeriodSeconds });

test.each([
  ['hard: at once', hard, own(30), 60, immediateGraceSeconds],
  ['soft: the maximum', soft, own(30), 5, 5],
  ['soft: the pod wants less', soft, own(3), 5, 3],
  ['soft: the pod wants nothing', soft, own(0), 5, 1],
  ['soft: the pod does not say', soft, unset, 5, 5],
  ['soft: the default maximum of 0', soft, own(30), 0, 1],
  ['soft: a negative maximum', soft, own(30), -1, 1],
] as const)('%s', (_name, threshold, pod, max, want) => {
  expect(evictionGraceSeconds(threshold, pod, max)).toBe(want);
});
