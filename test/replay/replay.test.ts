// Replays every recorded manifest on a whole kubelet in memory: CRI requests, statuses and events are the same as those
// of the Go kubelet v1.37.0, except for the differences listed here and in docs/parity.md.
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
  /** Our request in place of a recorded one. */
  readonly call?: (recorded: readonly unknown[]) => readonly unknown[];
  /** When the pod is deleted instead. */
  readonly deleteAtMs?: number;
  /** How many recorded statuses ours lack. */
  readonly missing?: number;
  /** Lines of our statuses that no recorded one has. */
  readonly unexpected?: readonly (string | RegExp)[];
  /** The last status differs, too. */
  readonly otherEnd?: boolean;
}

const backOffAtOnce =
  'a crash loop is reported as soon as its back-off begins; upstream reports the end of the container, often until the next start';
const endAtOnce =
  'the end of the last container, or the stop of the sandbox, and the end of the pod are one status';
const failureAtOnce = `a sandbox and a start that fails right after it are one status; ${endAtOnce}`;
const differences: Readonly<Record<string, Difference>> = {
  completed: { why: endAtOnce, missing: 1 },
  crashloop: {
    why: backOffAtOnce,
    missing: 5,
    unexpected: [/back-off 40s .* x3 /, /running \| last terminated 1 Error CONTAINER4 /, endedTwice(6)],
    otherEnd: true,
  },
  'env-missing': { why: failureAtOnce, missing: 2 },
  failed: { why: endAtOnce, missing: 1 },
  'init-fails-never': { why: endAtOnce, missing: 1 },
  'invalid-image': { why: failureAtOnce, missing: 2 },
  liveness: {
    why: 'probes of the fake runtime take no time, so the next restart comes earlier',
    deleteAtMs: 24_000,
  },
  'never-pull': { why: failureAtOnce, missing: 2 },
  'nonroot-violation': { why: failureAtOnce, missing: 2 },
  onfailure: {
    why: backOffAtOnce,
    missing: 5,
    unexpected: [/back-off 40s .* x3 /, endedTwice(5)],
    otherEnd: true,
  },
  oom: { why: endAtOnce, missing: 1 },
  'pod-level-resize': {
    why: 'a container that has its limit from the pod keeps its CPU shares; upstream sets them to the minimum',
    call: withShares,
  },
  'pull-fails': { why: failureAtOnce, missing: 2 },
  sidecar: { why: `a started sidecar is ready in the same status; ${endAtOnce}`, missing: 2 },
  'start-error-always': {
    why: `a pod keeps its address after its sandbox was removed; ${backOffAtOnce}`,
    missing: 3,
    unexpected: [/back-off 20s .* x2 /],
    otherEnd: true,
  },
  volumes: { why: failureAtOnce, missing: 2 },
  'volume-missing': { why: endAtOnce, missing: 1 },
};

/** CPU shares in proportion to the limit, as when the container started (docs/resize.md). */
function withShares(call: readonly unknown[]): readonly unknown[] {
  const [method, id, fields] = call as readonly [string, string, Readonly<Record<string, unknown>>];
  if (method !== 'UpdateContainerResources') return call;
  const shares = Math.floor((Number(fields['linux/cpuQuota']) * 1024) / 100_000);
  return [method, id, { ...fields, 'linux/cpuShares': shares }];
}

/** A container that ended while it was backing off: its end is both its state and its last state, as upstream reports it. */
function endedTwice(id: number): RegExp {
  return new RegExp(`terminated 1 Error CONTAINER${id} \\| last terminated 1 Error CONTAINER${id} `);
}

const recordings = readRecordings();

test('every recording is present', () => expect(recordings).toHaveLength(38));

describe('replay', () => {
  for (const recording of recordings) {
    test(recording.name, { timeout: 30_000 }, async () => {
      const { deleteAtMs = recording.deleteAtMs } = differences[recording.name] ?? {};
      const outcome = await runRecording({ ...recording, deleteAtMs });
      const calls = recordedCalls(recording) as readonly (readonly unknown[])[];
      expect(actualCalls(outcome)).toEqual(calls.map(differences[recording.name]?.call ?? ((call) => call)));
      expect(byObject(outcome.events)).toEqual(byObject(recording.events));
      expectStatuses(recordedStatuses(recording), outcome.statuses, differences[recording.name]);
      expect(outcome.left).toBe(0);
    });
  }
});

function expectStatuses(
  recorded: readonly string[],
  ours: readonly string[],
  { missing = 0, otherEnd = false, unexpected = [] }: Partial<Difference> = {},
): void {
  const lacking = missingStatuses(recorded, ours);
  expect(lacking, `lacking:\n${lacking.join('\n')}`).toHaveLength(missing);
  const last = (statuses: readonly string[]): string | undefined =>
    statuses.at(-1)?.replace('generation 2', 'generation 1');
  expect(last(ours) === last(recorded), `the last status is\n${last(ours)}`).toBe(!otherEnd);
  const unlisted = unexpectedLines(recorded, ours).filter(
    (line) => !unexpected.some((each) => line.match(each) !== null),
  );
  expect(unlisted).toEqual([]);
}
