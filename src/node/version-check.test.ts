import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { VersionCheck } from './version-check.ts';

async function world(minor = '37', fault?: KubeletError) {
  const clock = new FakeClock();
  const connected = new Channel<void>();
  const state = { minor, fault, reads: 0 };
  const lines: string[] = [];
  const log = textLogger({
    write: (line) => void lines.push(line),
    clock,
    verbosity: new Verbosity(0),
    pid: 1,
  });
  const check = new VersionCheck({
    read: async () => {
      state.reads++;
      if (state.fault !== undefined) throw state.fault;
      return { major: '1', minor: state.minor, gitVersion: `v1.${state.minor}.0` };
    },
    kubeletVersion: 'v1.37.0',
    connected,
    clock,
    log,
  });
  const stop = new AbortController();
  const { stopped } = await startComponent(check, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await stopped;
    expect(clock.pendingTimers()).toBe(0);
  });
  await clock.settle();
  const warnings = (): readonly string[] => lines.filter((line) => line.startsWith('W'));
  return { clock, connected, lines, state, warnings };
}

test('logs no warning for a supported API server, and reads its version once', async () => {
  const { clock, lines, state, warnings } = await world('38');
  await clock.advance(24 * 3_600_000);
  expect([warnings(), lines.length, state.reads]).toEqual([[], 1, 1]);
});

for (const [minor, reason] of [
  ['36', 'a kubelet must not be newer than its API server'],
  ['41', 'at most three minor releases older'],
] as const)
  test(`logs one warning for an API server of 1.${minor}, however often it reconnects`, async () => {
    const { clock, connected, state, warnings } = await world(minor);
    for (let round = 0; round < 1_000; round++) {
      connected.push();
      await clock.advance(3_600);
    }
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toContain(reason);
    // An hour with a new connection every few seconds.
    expect(state.reads).toBeLessThanOrEqual(14);
  });

test('notices an upgraded API server after a reconnect', async () => {
  const { clock, connected, lines, state, warnings } = await world('36');
  state.minor = '37';
  connected.push();
  await clock.advance(300_000);
  expect([warnings().length, lines.length]).toEqual([1, 2]);
  expect(lines[1]).toContain('Connected to the API server');
});

test('retries with backoff while the API server is unreachable', async () => {
  const { clock, state, warnings } = await world(
    '36',
    new KubeletError('unavailable', 'ConnectionRefused', 'no'),
  );
  await clock.advance(3_600_000);
  expect(state.reads).toBeGreaterThan(10);
  expect(state.reads).toBeLessThan(30);
  state.fault = undefined;
  await clock.advance(600_000);
  expect(warnings()).toHaveLength(1);
});

test('does not repeat a request that the API server refuses', async () => {
  const { clock, state, warnings } = await world('36', new KubeletError('forbidden', 'Forbidden', 'no'));
  await clock.advance(24 * 3_600_000);
  expect([state.reads, warnings()]).toEqual([1, []]);
});
