import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Check, Context } from './checks.ts';
import { judgeKnown, ok } from './finding.ts';
import { type DoctorHost, runChecks } from './run-checks.ts';

const check = (name: string, key: 'privileges' | 'swap' | 'programs'): Check => ({
  name,
  reads: [key],
  judge: (facts) => judgeKnown<unknown>(facts[key], key, () => ok('known')),
});

function run(host: Partial<DoctorHost>, checks: readonly Check[], clock = new FakeClock()) {
  const { signal } = new AbortController();
  return runChecks({
    checks,
    context: {} as Context,
    host: host as DoctorHost,
    clock,
    signal,
    deadlineMs: 5_000,
  });
}

test('a fact that hangs costs its own checks only, and no more than the deadline', async () => {
  const clock = new FakeClock();
  const aborted: unknown[] = [];
  const hang = (signal: AbortSignal): Promise<never> => {
    signal.addEventListener('abort', () => aborted.push(signal.reason));
    return new Promise(() => undefined);
  };
  const host = { swap: hang, privileges: () => Promise.resolve({ uid: 0, missing: [] }) };
  const results = run(host, [check('a', 'swap'), check('b', 'privileges'), check('c', 'swap')], clock);
  await clock.advance(5_000);
  expect(await results).toEqual([
    expect.objectContaining({
      name: 'a',
      status: 'warn',
      finding: 'swap cannot be determined: the check did not finish within 5000 ms',
    }),
    { name: 'b', status: 'ok', finding: 'known' },
    expect.objectContaining({ name: 'c', status: 'warn' }),
  ]);
  expect(aborted).toHaveLength(1);
});

test('a fact is gathered once for all its checks, and a failure is its reason', async () => {
  let calls = 0;
  const host = {
    programs: () => {
      calls += 1;
      return Promise.resolve([]);
    },
    privileges: () => Promise.reject(new Error('not permitted')),
  };
  const results = await run(host, [check('a', 'programs'), check('b', 'programs'), check('c', 'privileges')]);
  expect(calls).toBe(1);
  expect(results.map(({ finding }) => finding)).toEqual([
    'known',
    'known',
    'privileges cannot be determined: not permitted',
  ]);
});

test('an abort ends the run', async () => {
  const stop = new AbortController();
  const results = runChecks({
    checks: [check('a', 'swap')],
    context: {} as Context,
    host: { swap: () => new Promise(() => undefined) } as unknown as DoctorHost,
    clock: new FakeClock(),
    signal: stop.signal,
    deadlineMs: 5_000,
  });
  stop.abort(new Error('SIGINT'));
  await expect(results).rejects.toThrow('SIGINT');
});
