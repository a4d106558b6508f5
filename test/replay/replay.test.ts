// Replays every recorded manifest on a whole kubelet in memory: CRI requests, statuses and events are the same as those
// of the Go kubelet v1.34.11, except for the differences listed here and in docs/parity.md.
import { describe, expect, test } from 'vitest';
import {
  actualCalls,
  byObject,
  missingStatuses,
  recordedCalls,
  recordedStatuses,
  unexpectedLines,
} from './compare.ts';
import { readRecordings } from './recording.ts';
import { runRecording } from './run.ts';

interface Difference {
  readonly why: string;
  /** How many recorded statuses ours lack. */
  readonly missing?: number;
  /** Lines of our statuses that no recorded one has. */
  readonly unexpected?: readonly (string | RegExp)[];
}

const atOnce = 'the end of a container and its back-off are reported in one status';
const endAtOnce = 'the stop of the sandbox and the end of the pod are reported in one status';
const differences: Readonly<Record<string, Difference>> = {
  crashloop: { why: atOnce, missing: 3 },
  onfailure: { why: atOnce, missing: 3, unexpected: [/waiting CrashLoopBackOff back-off 40s .* x3 /] },
  'start-error-always': { why: atOnce, missing: 2 },
  'env-missing': { why: endAtOnce, missing: 1 },
  'invalid-image': { why: endAtOnce, missing: 1 },
  'never-pull': { why: endAtOnce, missing: 1 },
  'nonroot-violation': { why: endAtOnce, missing: 1 },
  'pull-fails': { why: endAtOnce, missing: 1 },
  sidecar: { why: endAtOnce, missing: 1 },
  'volume-missing': { why: endAtOnce, missing: 1 },
  volumes: { why: endAtOnce, missing: 1 },
};

const recordings = readRecordings();

test('every recording is present', () => expect(recordings).toHaveLength(34));

describe('replay', () => {
  for (const recording of recordings) {
    test(recording.name, { timeout: 30_000 }, async () => {
      const outcome = await runRecording(recording);
      expect(actualCalls(outcome)).toEqual(recordedCalls(recording));
      expect(byObject(outcome.events)).toEqual(byObject(recording.events));
      expectStatuses(recordedStatuses(recording), outcome.statuses, differences[recording.name]);
      expect(outcome.left).toBe(0);
    });
  }
});

function expectStatuses(
  recorded: readonly string[],
  ours: readonly string[],
  { missing = 0, unexpected = [] }: Partial<Difference> = {},
): void {
  expect(missingStatuses(recorded, ours), `our statuses were:\n${ours.join('\n')}`).toHaveLength(missing);
  expect(ours.at(-1)?.replace('generation 2', 'generation 1')).toBe(
    recorded.at(-1)?.replace('generation 2', 'generation 1'),
  );
  const unlisted = unexpectedLines(recorded, ours).filter(
    (line) => !unexpected.some((each) => line.match(each) !== null),
  );
  expect(unlisted).toEqual([]);
}
