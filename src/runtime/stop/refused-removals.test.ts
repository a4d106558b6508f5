import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log/log.ts';
import { isRefusal, RefusedRemovals, refusalHoldsMs } from './refused-removals.ts';

test('a refusal is told once, holds for a while, and is forgotten with the container', async () => {
  const clock = new FakeClock();
  const warned: unknown[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (_message, fields) => void warned.push(fields?.['containerID']),
  };
  const refusals = new RefusedRemovals({ clock, log });
  const refused = new KubeletError('invalid', 'FAILED_PRECONDITION', 'cannot delete running task');
  expect(refusals.holds('c')).toBe(false);
  refusals.note('c', refused);
  await clock.advance(refusalHoldsMs - 1);
  expect(refusals.holds('c')).toBe(true);
  await clock.advance(1);
  expect(refusals.holds('c')).toBe(false);
  refusals.note('c', refused);
  expect([refusals.holds('c'), warned]).toEqual([true, ['c']]);
  refusals.forget('c');
  expect(refusals.holds('c')).toBe(false);
});

test('of very many the oldest are forgotten', () => {
  const refusals = new RefusedRemovals({ clock: new FakeClock(), log: silentLogger });
  for (let i = 0; i <= 1_000; i++) refusals.note(`c${i}`, new Error('no'));
  expect([refusals.holds('c0'), refusals.holds('c1'), refusals.holds('c1000')]).toEqual([false, true, true]);
});

const cases: readonly (readonly [string, unknown, boolean])[] = [
  ['the runtime says no', new KubeletError('invalid', 'FAILED_PRECONDITION', 'no'), true],
  ['the runtime failed', new KubeletError('internal', 'UNKNOWN', 'oops'), true],
  ['it is away', new KubeletError('unavailable', 'UNAVAILABLE', 'gone'), false],
  ['it does not answer', new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'late'), false],
  ['we gave up', new Aborted('enough'), false],
];
for (const [name, err, want] of cases) {
  test(`isRefusal: ${name}`, () => expect(isRefusal(err)).toBe(want));
}
