// Replays every recorded manifest on a whole kubelet in memory: the same requests to the runtime, the same statuses one after the
// other and the same events as the Go kubelet v1.34.11 had, save what is listed here and in docs/parity.md.
import { describe, expect, test } from 'vitest';
import {
  byObject,
  madeCalls,
  missedStatuses,
  recordedCalls,
  recordedStatuses,
  strangeLines,
} from './compare.ts';
import { readRecordings } from './recording.ts';
import { runRecording } from './run.ts';

interface Difference {
  readonly why: string;
  /** So many recorded statuses between others we do not have. */
  readonly missed?: number;
  /** Lines of our statuses that no recorded one has. */
  readonly strange?: readonly (string | RegExp)[];
}

const atOnce = 'that a container has ended and that it waits for its back-off is told at once, together';
const endAtOnce = 'that the sandbox has stopped is told together with the end of the pod';
const differences: Readonly<Record<string, Difference>> = {
  crashloop: { why: atOnce, missed: 3 },
  onfailure: { why: atOnce, missed: 3, strange: [/waiting CrashLoopBackOff back-off 40s .* x3 /] },
  'start-error-always': { why: atOnce, missed: 2 },
  'env-missing': { why: endAtOnce, missed: 1 },
  'invalid-image': { why: endAtOnce, missed: 1 },
  'never-pull': { why: endAtOnce, missed: 1 },
  'nonroot-violation': { why: endAtOnce, missed: 1 },
  'pull-fails': { why: endAtOnce, missed: 1 },
  sidecar: { why: endAtOnce, missed: 1 },
  'volume-missing': { why: endAtOnce, missed: 1 },
  volumes: { why: endAtOnce, missed: 1 },
};

const recordings = readRecordings();

test('every recording is here', () => expect(recordings).toHaveLength(34));

describe('replay', () => {
  for (const recording of recordings) {
    test(recording.name, { timeout: 30_000 }, async () => {
      const outcome = await runRecording(recording);
      expect(madeCalls(outcome)).toEqual(recordedCalls(recording));
      expect(byObject(outcome.events)).toEqual(byObject(recording.events));
      expectStatuses(recordedStatuses(recording), outcome.statuses, differences[recording.name]);
      expect(outcome.left).toBe(0);
    });
  }
});

function expectStatuses(
  recorded: readonly string[],
  ours: readonly string[],
  { missed = 0, strange = [] }: Partial<Difference> = {},
): void {
  const missing = missedStatuses(recorded, ours);
  expect(missing, `our statuses were:\n${ours.join('\n')}`).toHaveLength(missed);
  expect(ours.at(-1)?.replace('generation 2', 'generation 1')).toBe(
    recorded.at(-1)?.replace('generation 2', 'generation 1'),
  );
  const unexpected = strangeLines(recorded, ours).filter(
    (line) => !strange.some((each) => line.match(each) !== null),
  );
  expect(unexpected).toEqual([]);
}
