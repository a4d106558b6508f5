import { afterEach, expect, test, vi } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { silentLogger } from '../base/log/log.ts';
import { RestartGap } from './restart-gap.ts';

afterEach(() => vi.unstubAllEnvs());

function aGap(timeoutUsec: string) {
  vi.stubEnv('WATCHDOG_USEC', timeoutUsec);
  vi.stubEnv('WATCHDOG_PID', '');
  const clock = new FakeClock();
  const sent: string[] = [];
  const notify = async (state: string): Promise<boolean> => {
    sent.push(state);
    return true;
  };
  return { gap: new RestartGap({ notify, clock, log: silentLogger, random: () => 0 }), clock, sent };
}

test('sends keep-alives from the end of a kubelet until the next one has started', async () => {
  const { clock, gap, sent } = aGap('4000000');
  gap.begin();
  await clock.advance(5_000);
  expect(sent).toEqual(['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  // The next one failed to start: the gap continues, and is not begun twice.
  gap.begin();
  await clock.advance(2_000);
  expect(sent).toHaveLength(4);
  gap.end();
  await clock.advance(60_000);
  expect(sent).toHaveLength(4);
  expect(clock.pendingTimers()).toBe(0);
});

test('a kubelet that hangs between two runs is left to the watchdog after five minutes', async () => {
  const { clock, gap, sent } = aGap('60000000');
  gap.begin();
  await clock.advance(20 * 60_000);
  expect(sent).toHaveLength(11);
  gap.end();
});

test('nothing is sent without a watchdog', async () => {
  const { clock, gap, sent } = aGap('');
  gap.begin();
  await clock.advance(60_000);
  gap.end();
  expect(sent).toEqual([]);
});
