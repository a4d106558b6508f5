import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Component } from './component.ts';
import { Aborted, describeError, KubeletError } from './errors.ts';
import { type LogFields, type Logger, silentLogger } from './log/log.ts';
import { Supervisor } from './supervisor.ts';

interface Manners {
  /** Duration of start(); Infinity: it never settles. */
  readonly startMs?: number;
  readonly startFails?: string;
  readonly stopMs?: number;
  readonly stopFails?: string;
  /** Stops unexpectedly this long after it became ready. */
  readonly endsAfterMs?: number;
  readonly endsWith?: string;
  /** Ignores its signal. */
  readonly deaf?: boolean;
}

function setUp(
  parts: Readonly<Record<string, Manners>>,
  deadlines = { startDeadlineMs: 1000, stopDeadlineMs: 500 },
) {
  const clock = new FakeClock();
  const events: string[] = [];
  const errors: [string, LogFields][] = [];
  const log: Logger = { ...silentLogger, error: (message, fields) => errors.push([message, fields ?? {}]) };
  const abort = new AbortController();
  const components = Object.entries(parts).map(([name, manners]) => component(clock, events, name, manners));
  const supervisor = new Supervisor({ components, clock, log, ...deadlines });
  const outcome: { result?: string; err?: unknown } = {};
  const run = supervisor.run(abort.signal).then(
    () => {
      outcome.result = 'clean';
      return undefined;
    },
    (err: unknown) => {
      outcome.result = describeError(err);
      outcome.err = err;
    },
  );
  return { clock, events, errors, abort, outcome, run };
}

function component(clock: FakeClock, events: string[], name: string, manners: Manners): Component {
  const note = (what: string): void => void events.push(`${name} ${what}`);
  const asked = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  const live = async (signal: AbortSignal): Promise<void> => {
    if (manners.endsAfterMs !== undefined) {
      await clock.sleep(manners.endsAfterMs);
      note('ends');
      if (manners.endsWith !== undefined) throw new Error(manners.endsWith);
      return;
    }
    await asked(signal);
    note('stopping');
    await clock.sleep(manners.stopMs ?? 0);
    note('stopped');
    if (manners.stopFails !== undefined) throw new Error(manners.stopFails);
  };
  return {
    name,
    async start(signal) {
      note('starting');
      if (manners.startMs !== undefined)
        await clock.sleep(manners.startMs, manners.deaf ? undefined : signal);
      if (manners.startFails !== undefined) throw new Error(manners.startFails);
      note('ready');
      return { stopped: live(signal) };
    },
  };
}

describe('Supervisor: a clean run', () => {
  test('starts in order, each after the previous one is ready, and stops in reverse, one at a time', async () => {
    const { clock, events, abort, outcome } = setUp({
      lease: { startMs: 10, stopMs: 10 },
      pleg: { startMs: 10, stopMs: 10 },
      server: { startMs: 10, stopMs: 10 },
    });
    await clock.advance(100);
    expect(events).toEqual([
      'lease starting',
      'lease ready',
      'pleg starting',
      'pleg ready',
      'server starting',
      'server ready',
    ]);
    expect(outcome).toEqual({});
    events.length = 0;
    abort.abort();
    await clock.advance(100);
    expect(events).toEqual([
      'server stopping',
      'server stopped',
      'pleg stopping',
      'pleg stopped',
      'lease stopping',
      'lease stopped',
    ]);
    expect(outcome).toEqual({ result: 'clean' });
    expect(clock.pendingTimers()).toBe(0);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });

  test('gives each component its own signal', async () => {
    const signals: AbortSignal[] = [];
    const abort = new AbortController();
    const clock = new FakeClock();
    const make = (name: string): Component => ({
      name,
      start: async (signal) => {
        signals.push(signal);
        return { stopped: new Promise((resolve) => signal.addEventListener('abort', () => resolve())) };
      },
    });
    const run = new Supervisor({
      components: [make('a'), make('b')],
      clock,
      log: silentLogger,
      startDeadlineMs: 1,
      stopDeadlineMs: 1,
    }).run(abort.signal);
    await clock.settle();
    expect(new Set([...signals, abort.signal]).size).toBe(3);
    abort.abort();
    await run;
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
  });

  test('waits for the signal without components', async () => {
    const { clock, abort, outcome } = setUp({});
    await clock.advance(10_000);
    expect(outcome).toEqual({});
    abort.abort();
    await clock.settle();
    expect(outcome).toEqual({ result: 'clean' });
  });

  test('starts nothing if the signal is aborted already', async () => {
    const clock = new FakeClock();
    const events: string[] = [];
    const supervisor = new Supervisor({
      components: [component(clock, events, 'a', {})],
      clock,
      log: silentLogger,
      startDeadlineMs: 1,
      stopDeadlineMs: 1,
    });
    await supervisor.run(AbortSignal.abort());
    expect(events).toEqual([]);
  });

  test('treats a rejection with its own abort as a clean stop', async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const run = new Supervisor({
      components: [{ name: 'a', start: async (signal) => ({ stopped: clock.sleep(60_000, signal) }) }],
      clock,
      log: silentLogger,
      startDeadlineMs: 1,
      stopDeadlineMs: 1,
    }).run(abort.signal);
    await clock.settle();
    abort.abort();
    await expect(run).resolves.toBeUndefined();
  });
});

describe('Supervisor: a start that fails', () => {
  test('stops the started components in reverse, starts no other and rejects with its name', async () => {
    const { clock, events, outcome } = setUp({ a: {}, b: {}, c: { startFails: 'port in use' }, d: {} });
    await clock.advance(100);
    expect(events.slice(5)).toEqual(['b stopping', 'b stopped', 'a stopping', 'a stopped']);
    expect(events).not.toContain('d starting');
    expect(outcome.result).toBe('c failed to start: port in use');
    expect(clock.pendingTimers()).toBe(0);
  });

  test('keeps the kind of the cause', async () => {
    const clock = new FakeClock();
    const cause = new KubeletError('forbidden', 'Denied', 'not allowed');
    const run = new Supervisor({
      components: [{ name: 'a', start: () => Promise.reject(cause) }],
      clock,
      log: silentLogger,
      startDeadlineMs: 1,
      stopDeadlineMs: 1,
    }).run(new AbortController().signal);
    await expect(run).rejects.toMatchObject({ kind: 'forbidden', reason: 'ComponentFailed', cause });
  });

  test('treats a synchronous throw of start() as a failure', async () => {
    const clock = new FakeClock();
    const run = new Supervisor({
      components: [
        {
          name: 'a',
          start: () => {
            throw new Error('at once');
          },
        },
      ],
      clock,
      log: silentLogger,
      startDeadlineMs: 1,
      stopDeadlineMs: 1,
    }).run(new AbortController().signal);
    await expect(run).rejects.toThrow('a failed to start');
  });

  test('fails if a component is not ready before the deadline, and stops the others', async () => {
    const { clock, events, outcome } = setUp({ a: {}, slow: { startMs: Number.POSITIVE_INFINITY }, c: {} });
    await clock.advance(999);
    expect(outcome).toEqual({});
    await clock.advance(1);
    expect(outcome.err).toMatchObject({
      kind: 'timeout',
      reason: 'StartDeadlineExceeded',
      message: 'slow was not ready within 1000 ms',
    });
    expect(events).toEqual(['a starting', 'a ready', 'slow starting', 'a stopping', 'a stopped']);
  });

  test('gives each component the whole start deadline', async () => {
    const { clock, events } = setUp({ a: { startMs: 900 }, b: { startMs: 900 } });
    await clock.advance(2000);
    expect(events).toContain('b ready');
  });
});

describe('Supervisor: the signal during start-up', () => {
  test('aborts the starting component, stops the started ones and starts no other', async () => {
    const { clock, events, abort, outcome } = setUp({ a: {}, b: { startMs: 800 }, c: {} });
    await clock.advance(100);
    abort.abort();
    await clock.advance(1);
    expect(events).toEqual(['a starting', 'a ready', 'b starting', 'a stopping', 'a stopped']);
    expect(outcome).toEqual({ result: 'clean' });
  });

  test('waits for a component that becomes ready after the abort until it has stopped', async () => {
    const { clock, events, abort, outcome } = setUp({ a: {}, b: { startMs: 300, deaf: true, stopMs: 50 } });
    await clock.advance(100);
    abort.abort();
    await clock.advance(249);
    expect(outcome).toEqual({});
    await clock.advance(1);
    expect(events.slice(2)).toEqual([
      'b starting',
      'b ready',
      'b stopping',
      'b stopped',
      'a stopping',
      'a stopped',
    ]);
    expect(outcome).toEqual({ result: 'clean' });
  });
});

describe('Supervisor: a component that stops unexpectedly', () => {
  test('fails the run with its name and stops the others', async () => {
    const { clock, events, outcome } = setUp({ a: {}, b: { endsAfterMs: 50 }, c: {} });
    await clock.advance(100);
    expect(events.slice(6)).toEqual(['b ends', 'c stopping', 'c stopped', 'a stopping', 'a stopped']);
    expect(outcome.result).toBe('b stopped unexpectedly');
  });

  test('fails the run with its error', async () => {
    const { clock, outcome } = setUp({ a: {}, b: { endsAfterMs: 50, endsWith: 'lost the socket' } });
    await clock.advance(100);
    expect(outcome.result).toBe('b failed: lost the socket');
  });

  test('treats a foreign abort as a failure', async () => {
    const clock = new FakeClock();
    const run = new Supervisor({
      components: [{ name: 'a', start: async () => ({ stopped: Promise.reject(new Aborted('inner')) }) }],
      clock,
      log: silentLogger,
      startDeadlineMs: 1,
      stopDeadlineMs: 1,
    }).run(new AbortController().signal);
    await expect(run).rejects.toThrow('a failed');
  });

  test('aborts a later component that is still starting', async () => {
    const { clock, events, outcome } = setUp({ a: { endsAfterMs: 50 }, b: { startMs: 900 }, c: {} });
    await clock.advance(100);
    expect(events).toEqual(['a starting', 'a ready', 'b starting', 'a ends']);
    expect(outcome.result).toBe('a stopped unexpectedly');
  });
});

describe('Supervisor: stopping', () => {
  test('logs a component that exceeds its stop deadline once and stops the others', async () => {
    const { clock, events, errors, abort, outcome } = setUp({
      a: {},
      stuck: { stopMs: 1_000_000 },
      c: {},
    });
    await clock.advance(1);
    abort.abort();
    await clock.advance(499);
    expect(events).not.toContain('a stopping');
    await clock.advance(2);
    expect(events.slice(-2)).toEqual(['a stopping', 'a stopped']);
    expect(errors).toEqual([
      [
        'Component did not stop before its deadline, continuing without it',
        { component: 'stuck', stopDeadlineMs: 500 },
      ],
    ]);
    expect(outcome).toEqual({ result: 'clean' });
  });

  test('only logs a failure after the stop deadline', async () => {
    const { clock, errors, abort, outcome } = setUp({ stuck: { stopMs: 2000, stopFails: 'too late' } });
    await clock.advance(1);
    abort.abort();
    await clock.advance(5000);
    expect(outcome).toEqual({ result: 'clean' });
    expect(errors.map(([message]) => message)).toEqual([
      'Component did not stop before its deadline, continuing without it',
      'Component failed after its stop deadline',
    ]);
  });

  test('fails the run on a failure during the stop, and stops the others', async () => {
    const { clock, events, abort, outcome } = setUp({ a: {}, b: { stopFails: 'cannot flush' } });
    await clock.advance(1);
    abort.abort();
    await clock.advance(10);
    expect(outcome.result).toBe('b failed: cannot flush');
    expect(events).toContain('a stopped');
  });

  test('throws the first failure and logs the others', async () => {
    const { clock, errors, outcome } = setUp({
      a: { stopFails: 'third' },
      b: { stopFails: 'second' },
      c: { endsAfterMs: 50, endsWith: 'first' },
    });
    await clock.advance(100);
    expect(outcome.result).toBe('c failed: first');
    expect(errors.map(([message, fields]) => [message, describeError(fields['err'])])).toEqual([
      ['Another component failed while stopping', 'b failed: second'],
      ['Another component failed while stopping', 'a failed: third'],
    ]);
  });
});
