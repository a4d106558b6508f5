import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { ProbeRuns } from './probe-runs.ts';

const uid = asPodUid('uid-p');
const probe = { uid, container: 'app', kind: 'liveness' } as const;
const success = { result: 'success', seconds: 0.01, periodSeconds: 10 } as const;
const failure = { result: 'failure', seconds: 1, periodSeconds: 10, output: 'refused' } as const;

function setUp() {
  const clock = new FakeClock();
  const runs = new ProbeRuns(clock);
  const record = async (...results: Parameters<ProbeRuns['record']>[1][]): Promise<void> => {
    for (const result of results) {
      runs.record(probe, result);
      await clock.advance(10_000);
    }
  };
  return { clock, runs, record, began: clock.now() };
}

test('counts equal results as one run, with its slowest result', async () => {
  const { began, record, runs } = setUp();
  await record(success, { ...success, seconds: 0.5 }, success, failure);
  expect(runs.of(uid)).toEqual([
    {
      container: 'app',
      kind: 'liveness',
      periodSeconds: 10,
      runs: [
        { result: 'success', count: 3, firstMs: began, lastMs: began + 20_000, slowestMs: 500 },
        {
          result: 'failure',
          count: 1,
          firstMs: began + 30_000,
          lastMs: began + 30_000,
          slowestMs: 1_000,
          output: 'refused',
        },
      ],
    },
  ]);
});

test('keeps the output of the newest failure of a run', async () => {
  const { record, runs } = setUp();
  await record(failure, { ...failure, output: 'timed out' });
  expect(runs.of(uid)[0]?.runs).toMatchObject([{ count: 2, output: 'timed out' }]);
});

test('keeps the newest 20 runs of a probe that flaps', async () => {
  const { record, runs } = setUp();
  for (let round = 0; round < 100; round++) await record(success, failure);
  const [strip] = runs.of(uid);
  expect(strip?.runs).toHaveLength(20);
  expect(strip?.runs.map(({ count }) => count)).toEqual(Array(20).fill(1));
  expect(strip?.runs.at(-1)?.result).toBe('failure');
});

test('bounds a hostile output to 200 bytes', async () => {
  const { record, runs } = setUp();
  await record({ ...failure, output: '\u{1f4a9}'.repeat(100_000) });
  const output = runs.of(uid)[0]?.runs[0]?.output ?? '';
  expect([output.endsWith('…'), Buffer.byteLength(output) <= 200]).toEqual([true, true]);
});

test('what a reader got does not change', async () => {
  const { record, runs } = setUp();
  await record(success);
  const before = runs.of(uid);
  await record(success, failure);
  expect(before[0]?.runs).toMatchObject([{ count: 1 }]);
});

test('announces each result, and the removal of a probe', () => {
  const { runs } = setUp();
  const announced: string[] = [];
  runs.changed.subscribe((each) => announced.push(each));
  runs.record(probe, success);
  runs.record(probe, success);
  runs.forget(probe);
  runs.forget(probe);
  expect([announced.length, runs.of(uid), runs.size]).toEqual([3, [], 0]);
});

test('forgets one probe of a pod and keeps the others', () => {
  const { runs } = setUp();
  runs.record(probe, success);
  runs.record({ ...probe, kind: 'readiness' }, success);
  runs.forget(probe);
  expect(runs.of(uid).map(({ kind }) => kind)).toEqual(['readiness']);
});
