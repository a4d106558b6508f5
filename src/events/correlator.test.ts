import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { EventText } from '../api/ports/events.ts';
import { Correlator } from './correlator.ts';
import { makeEvent, podReference } from './event-object.ts';

interface Emitted extends Partial<EventText> {
  readonly pod?: string;
  readonly fieldPath?: string;
}

function setUp() {
  const clock = new FakeClock();
  const correlator = new Correlator(clock);
  let seq = 0n;
  const say = ({
    pod = 'p',
    fieldPath,
    type = 'Warning',
    reason = 'BackOff',
    message = 'm',
  }: Emitted = {}) => {
    const { event, repeats, spam } = correlator.correlate(
      makeEvent({
        object: podReference(aPod({ name: pod }), fieldPath),
        text: { type, reason, message },
        nodeName: 'n',
        nowMs: clock.now(),
        unixNanos: ++seq,
      }),
    );
    const { metadata, message: correlatedMessage, count, firstTimestamp, lastTimestamp } = event;
    const { reportingComponent: by } = event;
    return {
      name: metadata.name,
      message: correlatedMessage,
      count,
      firstTimestamp,
      lastTimestamp,
      by,
      repeats,
      spam,
    };
  };
  return { clock, say };
}

const minute = 60_000;

describe('Correlator', () => {
  test('counts a repeated event under its first name and timestamp', async () => {
    const { clock, say } = setUp();
    expect(say()).toMatchObject({ name: 'p.1', count: 1, repeats: false });
    await clock.advance(5_000);
    expect(say()).toMatchObject({
      name: 'p.1',
      count: 2,
      repeats: true,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:05Z',
    });
    expect(say()).toMatchObject({ name: 'p.1', count: 3 });
  });

  const different: readonly (readonly [string, Emitted])[] = [
    ['another message', { message: 'other' }],
    ['another reason', { reason: 'Failed' }],
    ['another type', { type: 'Normal' }],
    ['another container', { fieldPath: 'spec.containers{b}' }],
    ['another pod', { pod: 'q' }],
  ];
  test.each(different)('an event with %s is a separate series', (_, other) => {
    const { say } = setUp();
    say();
    expect(say(other)).toMatchObject({ count: 1, repeats: false });
  });

  test('combines events from the tenth different message of one reason on, and counts them in one series', () => {
    const { say } = setUp();
    const first = Array.from({ length: 9 }, (_, i) => say({ message: `m${i}` }));
    expect(first.map(({ message, count }) => [message, count])).toEqual(
      Array.from({ length: 9 }, (_, i) => [`m${i}`, 1]),
    );
    expect(say({ message: 'm9' })).toMatchObject({
      name: 'p.a',
      message: '(combined from similar events): m9',
      by: '',
      count: 1,
      repeats: false,
    });
    expect(say({ message: 'm10' })).toMatchObject({
      name: 'p.a',
      message: '(combined from similar events): m10',
      count: 2,
      repeats: true,
    });
    expect(say({ message: 'm10', reason: 'Failed' })).toMatchObject({ message: 'm10', count: 1 });
  });

  test('stops combining after ten minutes without events', async () => {
    const { clock, say } = setUp();
    for (let i = 0; i < 10; i++) say({ message: `m${i}` });
    await clock.advance(10 * minute + 1);
    expect(say({ message: 'fresh' })).toMatchObject({ message: 'fresh', count: 1 });
  });

  test('is not affected by changes of the wall clock', () => {
    const { clock, say } = setUp();
    for (let i = 0; i < 9; i++) say({ message: `m${i}` });
    clock.stepWall(3_600_000);
    expect(say({ message: 'm9' }).message).toContain('combined');
  });

  test('allows 25 events about one pod and type at once, then one every five minutes', async () => {
    const { clock, say } = setUp();
    const spam = Array.from({ length: 27 }, () => say().spam);
    expect(spam.filter((each) => !each)).toHaveLength(25);
    expect(spam.slice(25)).toEqual([true, true]);
    expect([say({ pod: 'q' }).spam, say({ type: 'Normal' }).spam]).toEqual([false, false]);
    await clock.advance(5 * minute);
    // Filtered events are counted, so that the next event sent has the full count.
    expect([say(), say()]).toMatchObject([
      { count: 28, spam: false },
      { count: 29, spam: true },
    ]);
  });
});
