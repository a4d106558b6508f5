import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { describeError } from '../base/errors.ts';
import { type LogFields, type Logger, silentLogger } from '../base/log/log.ts';
import { SystemdReady } from './systemd-ready.ts';
import {
  checkSyncLoop,
  Watchdog,
  type WatchdogDeps,
  type WatchdogEnvironment,
  watchdogIntervalMs,
} from './watchdog.ts';

const intervals: readonly (readonly [string, WatchdogEnvironment, number | undefined | string])[] = [
  ['no watchdog without systemd', {}, undefined],
  ['no watchdog with an empty timeout', { WATCHDOG_USEC: '' }, undefined],
  ['half the timeout', { WATCHDOG_USEC: '30000000' }, 15_000],
  ['for this process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '42' }, 15_000],
  ['for another process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '43' }, undefined],
  ['a process without a timeout', { WATCHDOG_PID: '42' }, undefined],
  ['just more than a second', { WATCHDOG_USEC: '1000001' }, 500.0005],
  ['rejects a second', { WATCHDOG_USEC: '1000000' }, 'WATCHDOG_USEC=1000000 is not more than a second'],
  ['rejects a unit', { WATCHDOG_USEC: '30s' }, 'WATCHDOG_USEC=30s is not a positive number'],
  ['rejects an exponent', { WATCHDOG_USEC: '3e7' }, 'WATCHDOG_USEC=3e7 is not a positive number'],
  ['rejects zero', { WATCHDOG_USEC: '0' }, 'WATCHDOG_USEC=0 is not a positive number'],
  ['rejects a negative timeout', { WATCHDOG_USEC: '-5' }, 'WATCHDOG_USEC=-5 is not a positive number'],
  [
    'rejects an invalid process ID',
    { WATCHDOG_USEC: '30000000', WATCHDOG_PID: 'me' },
    'WATCHDOG_PID=me is not a process id',
  ],
];

describe('watchdogIntervalMs', () => {
  for (const [name, env, want] of intervals) {
    test(name, () => {
      if (typeof want === 'string') expect(() => watchdogIntervalMs(env, 42)).toThrow(want);
      else expect(watchdogIntervalMs(env, 42)).toBe(want);
    });
  }
});

class Recorder {
  readonly clock = new FakeClock();
  readonly sent: string[] = [];
  readonly errors: string[] = [];
  readonly stop = new AbortController();
  check: WatchdogDeps['check'] = () => undefined;
  notify: () => Promise<boolean> = async () => true;

  get log(): Logger {
    const add = (message: string, fields?: LogFields): void => {
      this.errors.push(`${message}: ${describeError(fields?.['err'])}`);
    };
    return { ...silentLogger, error: add, warn: add };
  }

  async start(): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, log } = this;
    const watchdog = new Watchdog({
      intervalMs: 15_000,
      check: (signal) => this.check(signal),
      notify: async (state) => {
        this.sent.push(`${this.clock.monotonic()} ${state}`);
        return this.notify();
      },
      clock,
      log,
      random: () => 0.5,
    });
    const started = await watchdog.start(this.stop.signal);
    await clock.settle();
    return started;
  }
}

describe('Watchdog', () => {
  test('notifies at once and every interval while healthy', async () => {
    const recorder = new Recorder();
    await recorder.start();
    await recorder.clock.advance(30_000);
    expect(recorder.sent).toEqual(['0 WATCHDOG=1', '15000 WATCHDOG=1', '30000 WATCHDOG=1']);
    expect(recorder.errors).toEqual([]);
  });

  test('stops notifying while unhealthy and resumes afterwards', async () => {
    const recorder = new Recorder();
    await recorder.start();
    recorder.check = () => {
      throw new Error('sync loop is stuck');
    };
    await recorder.clock.advance(30_000);
    recorder.check = async () => undefined;
    await recorder.clock.advance(15_000);
    expect(recorder.sent).toEqual(['0 WATCHDOG=1', '45000 WATCHDOG=1']);
    expect(recorder.errors).toEqual(
      Array.from(
        { length: 2 },
        () => 'Kubelet is unhealthy, not notifying the systemd watchdog: sync loop is stuck',
      ),
    );
  });

  test('waits for the sync loop to start without an error, and reports one that has not by the next check', async () => {
    const recorder = new Recorder();
    let problem: string | undefined = 'the sync loop has not started';
    recorder.check = () => checkSyncLoop([{ name: 'syncloop', check: () => problem }]);
    await recorder.start();
    await recorder.clock.advance(14_000);
    expect([recorder.sent, recorder.errors]).toEqual([[], []]);
    await recorder.clock.advance(1_000);
    expect(recorder.errors).toEqual([
      'Kubelet is unhealthy, not notifying the systemd watchdog: the sync loop has not started',
    ]);
    problem = undefined;
    await recorder.clock.advance(15_000);
    expect([recorder.sent, recorder.errors.length]).toEqual([['30000 WATCHDOG=1'], 1]);
  });

  test('treats a check that hangs as failed', async () => {
    const recorder = new Recorder();
    recorder.check = () => new Promise(() => undefined);
    await recorder.start();
    await recorder.clock.advance(15_000);
    expect(recorder.sent).toEqual([]);
    expect(recorder.errors).toEqual([
      'Kubelet is unhealthy, not notifying the systemd watchdog: the health check did not finish within 15000 ms',
    ]);
  });

  test('retries a failed notification once after about a second', async () => {
    const recorder = new Recorder();
    let failures = 1;
    recorder.notify = async () => {
      if (failures-- > 0) throw new Error('socket is full');
      return true;
    };
    await recorder.start();
    await recorder.clock.advance(1_050);
    expect(recorder.sent).toEqual(['0 WATCHDOG=1', '1050 WATCHDOG=1']);
    expect(recorder.errors).toEqual([]);
  });

  test('logs two failures in a row and retries after the interval', async () => {
    const recorder = new Recorder();
    recorder.notify = async () => {
      throw new Error('socket is full');
    };
    await recorder.start();
    await recorder.clock.advance(1_050);
    expect(recorder.errors).toEqual(['Failed to notify the systemd watchdog: socket is full']);
    recorder.notify = async () => true;
    await recorder.clock.advance(15_000);
    expect(recorder.sent.length).toBe(3);
    expect(recorder.errors.length).toBe(1);
  });

  test('logs that there is no socket and does not retry', async () => {
    const recorder = new Recorder();
    recorder.notify = async () => false;
    await recorder.start();
    expect(recorder.sent.length).toBe(1);
    expect(recorder.errors).toEqual(['Failed to notify the systemd watchdog: NOTIFY_SOCKET is not set']);
  });

  const moments: readonly (readonly [string, (recorder: Recorder) => void])[] = [
    ['while waiting', () => undefined],
    [
      'during a check',
      (recorder) => {
        recorder.check = () => new Promise(() => undefined);
      },
    ],
    [
      'between two attempts',
      (recorder) => {
        recorder.notify = async () => {
          throw new Error('socket is full');
        };
      },
    ],
  ];
  for (const [name, prepare] of moments) {
    test(`stops at once ${name}, with no timer left and nothing logged`, async () => {
      const recorder = new Recorder();
      prepare(recorder);
      const { stopped } = await recorder.start();
      recorder.stop.abort(new Error('stopped'));
      await stopped;
      expect(recorder.clock.pendingTimers()).toBe(0);
      expect(recorder.errors).toEqual([]);
    });
  }
});

describe('SystemdReady', () => {
  test('sends READY=1 on start and STOPPING=1 on stop', async () => {
    const states: string[] = [];
    const stop = new AbortController();
    const notify = async (state: string): Promise<boolean> => states.push(state) > 0;
    const { stopped } = await new SystemdReady({ notify, log: silentLogger }).start(stop.signal);
    expect(states).toEqual(['READY=1']);
    stop.abort();
    await stopped;
    expect(states).toEqual(['READY=1', 'STOPPING=1']);
  });

  test('logs a warning when systemd cannot be notified', async () => {
    const recorder = new Recorder();
    const notify = async (): Promise<boolean> => {
      throw new Error('no such socket');
    };
    recorder.stop.abort();
    const { stopped } = await new SystemdReady({ notify, log: recorder.log }).start(recorder.stop.signal);
    await stopped;
    expect(recorder.errors).toEqual(
      Array.from({ length: 2 }, () => 'Failed to notify systemd: no such socket'),
    );
  });
});

test('checkSyncLoop throws the problem of the sync loop and ignores other checks', () => {
  const check = (problem: string | undefined) => () => problem;
  const other = { name: 'lease', check: check('late') };
  expect(() => checkSyncLoop([other, { name: 'syncloop', check: check(undefined) }])).not.toThrow();
  expect(() => checkSyncLoop([{ name: 'syncloop', check: check('stuck') }])).toThrow('stuck');
});
