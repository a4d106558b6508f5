import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { describeError } from '../base/errors.ts';
import { type LogFields, type Logger, silentLogger } from '../base/log/log.ts';
import { SystemdReady } from './systemd-ready.ts';
import { Watchdog, type WatchdogDeps, type WatchdogEnvironment, watchdogIntervalMs } from './watchdog.ts';

const intervals: readonly (readonly [string, WatchdogEnvironment, number | undefined | string])[] = [
  ['no systemd', {}, undefined],
  ['a service without watchdog', { WATCHDOG_USEC: '' }, undefined],
  ['half the timeout', { WATCHDOG_USEC: '30000000' }, 15_000],
  ['for this process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '42' }, 15_000],
  ['for another process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '43' }, undefined],
  ['only a process', { WATCHDOG_PID: '42' }, undefined],
  ['just more than a second', { WATCHDOG_USEC: '1000001' }, 500.0005],
  ['a second is too short', { WATCHDOG_USEC: '1000000' }, 'WATCHDOG_USEC=1000000 is not more than a second'],
  ['no number', { WATCHDOG_USEC: '30s' }, 'WATCHDOG_USEC=30s is not a positive number'],
  ['a fraction', { WATCHDOG_USEC: '3e7' }, 'WATCHDOG_USEC=3e7 is not a positive number'],
  ['zero', { WATCHDOG_USEC: '0' }, 'WATCHDOG_USEC=0 is not a positive number'],
  ['negative', { WATCHDOG_USEC: '-5' }, 'WATCHDOG_USEC=-5 is not a positive number'],
  ['no process id', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: 'me' }, 'WATCHDOG_PID=me is not a process id'],
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

  test('is silent while unhealthy and speaks again after', async () => {
    const recorder = new Recorder();
    await recorder.start();
    recorder.check = () => {
      throw new Error('sync loop stands still');
    };
    await recorder.clock.advance(30_000);
    recorder.check = async () => undefined;
    await recorder.clock.advance(15_000);
    expect(recorder.sent).toEqual(['0 WATCHDOG=1', '45000 WATCHDOG=1']);
    expect(recorder.errors).toEqual(
      Array.from(
        { length: 2 },
        () => 'Not healthy, so the systemd watchdog is not notified: sync loop stands still',
      ),
    );
  });

  test('a check that hangs is a check that fails', async () => {
    const recorder = new Recorder();
    recorder.check = () => new Promise(() => undefined);
    await recorder.start();
    await recorder.clock.advance(15_000);
    expect(recorder.sent).toEqual([]);
    expect(recorder.errors).toEqual([
      'Not healthy, so the systemd watchdog is not notified: the health check did not finish within 15000 ms',
    ]);
  });

  test('a notification that fails is tried once more after about a second', async () => {
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

  test('two failures in a row are logged and left to the next turn', async () => {
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

  test('without a socket it says so and does not retry', async () => {
    const recorder = new Recorder();
    recorder.notify = async () => false;
    await recorder.start();
    expect(recorder.sent.length).toBe(1);
    expect(recorder.errors).toEqual(['Failed to notify the systemd watchdog: NOTIFY_SOCKET is not set']);
  });

  const moments: readonly (readonly [string, (recorder: Recorder) => void])[] = [
    ['while it waits', () => undefined],
    [
      'during a check',
      (recorder) => {
        recorder.check = () => new Promise(() => undefined);
      },
    ],
    [
      'between two tries',
      (recorder) => {
        recorder.notify = async () => {
          throw new Error('socket is full');
        };
      },
    ],
  ];
  for (const [name, prepare] of moments) {
    test(`stops at once ${name}, with no timer left and nothing to say`, async () => {
      const recorder = new Recorder();
      prepare(recorder);
      const { stopped } = await recorder.start();
      recorder.stop.abort(new Error('asked to stop'));
      await stopped;
      expect(recorder.clock.pendingTimers()).toBe(0);
      expect(recorder.errors).toEqual([]);
    });
  }
});

describe('SystemdReady', () => {
  test('says READY=1 when started and STOPPING=1 when asked to stop', async () => {
    const states: string[] = [];
    const stop = new AbortController();
    const notify = async (state: string): Promise<boolean> => states.push(state) > 0;
    const { stopped } = await new SystemdReady({ notify, log: silentLogger }).start(stop.signal);
    expect(states).toEqual(['READY=1']);
    stop.abort();
    await stopped;
    expect(states).toEqual(['READY=1', 'STOPPING=1']);
  });

  test('a systemd that does not hear is a warning', async () => {
    const recorder = new Recorder();
    const notify = async (): Promise<boolean> => {
      throw new Error('no such socket');
    };
    recorder.stop.abort();
    const { stopped } = await new SystemdReady({ notify, log: recorder.log }).start(recorder.stop.signal);
    await stopped;
    expect(recorder.errors).toEqual(
      Array.from({ length: 2 }, () => 'Systemd could not be notified: no such socket'),
    );
  });
});
