import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log/log.ts';
import { isRefusal, RefusedRemovals, removalRetryMs } from './refused-removals.ts';

test('logs a refusal once, backs off, and forgets a removed container', async () => {
  const clock = new FakeClock();
  const logged: unknown[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (_message, fields) => void logged.push(fields?.['containerID']),
  };
  const refusals = new RefusedRemovals({ clock, log });
  const refused = new KubeletError('invalid', 'FAILED_PRECONDITION', 'cannot delete running task');
  expect(refusals.isBackingOff('c')).toBe(false);
  refusals.record('c', refused);
  await clock.advance(removalRetryMs - 1);
  expect(refusals.isBackingOff('c')).toBe(true);
  await clock.advance(1);
  expect(refusals.isBackingOff('c')).toBe(false);
  refusals.record('c', refused);
  expect([refusals.isBackingOff('c'), logged]).toEqual([true, ['c']]);
  refusals.forget('c');
  expect(refusals.isBackingOff('c')).toBe(false);
});

test('forgets the oldest entries beyond the limit', () => {
  const refusals = new RefusedRemovals({ clock: new FakeClock(), log: silentLogger });
  for (let i = 0; i <= 1_000; i++) refusals.record(`c${i}`, new Error('no'));
  expect([refusals.isBackingOff('c0'), refusals.isBackingOff('c1'), refusals.isBackingOff('c1000')]).toEqual([
    false,
    true,
    true,
  ]);
});

const cases: readonly (readonly [string, unknown, boolean])[] = [
  ['the runtime refuses', new KubeletError('invalid', 'FAILED_PRECONDITION', 'no'), true],
  ['the runtime failed', new KubeletError('internal', 'UNKNOWN', 'oops'), true],
  ['the runtime is unavailable', new KubeletError('unavailable', 'UNAVAILABLE', 'gone'), false],
  ['the call timed out', new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'late'), false],
  ['the call was aborted', new Aborted('enough'), false],
];
for (const [name, err, want] of cases) {
  test(`isRefusal: ${name}`, () => expect(isRefusal(err)).toBe(want));
}
