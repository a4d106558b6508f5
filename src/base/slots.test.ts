import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted } from './errors.ts';
import { type Slot, Slots } from './slots.ts';

function setUp(count: number, leaseMs = 1000) {
  const clock = new FakeClock();
  const slots = new Slots({ clock, count, leaseMs });
  const got: string[] = [];
  const held = new Map<string, Slot>();
  const ask = (name: string, priority: number, signal?: AbortSignal): Promise<void> =>
    slots.acquire(priority, signal).then((slot) => {
      got.push(name);
      held.set(name, slot);
      return undefined;
    });
  const release = async (name: string): Promise<void> => {
    held.get(name)?.release();
    await clock.settle();
  };
  return { clock, ask, release, got };
}

describe('Slots', () => {
  test('grants at most count slots', async () => {
    const { clock, ask, release, got } = setUp(2);
    for (const name of ['a', 'b', 'c']) void ask(name, 0);
    await clock.settle();
    expect(got).toEqual(['a', 'b']);
    await release('a');
    expect(got).toEqual(['a', 'b', 'c']);
  });

  test('serves by priority, then by arrival', async () => {
    const { clock, ask, release, got } = setUp(1);
    void ask('first', 0);
    for (const [name, priority] of [
      ['low1', 5],
      ['high1', 1],
      ['low2', 5],
      ['high2', 1],
      ['top', 0],
    ] as const)
      void ask(name, priority);
    await clock.settle();
    for (const name of ['first', 'top', 'high1', 'high2', 'low1', 'low2']) await release(name);
    expect(got).toEqual(['first', 'top', 'high1', 'high2', 'low1', 'low2']);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('does not count a holder past its lease', async () => {
    const { clock, ask, got } = setUp(1, 1000);
    void ask('stuck', 0);
    void ask('next', 0);
    await clock.advance(999);
    expect(got).toEqual(['stuck']);
    await clock.advance(1);
    expect(got).toEqual(['stuck', 'next']);
  });

  test('ignores a second release and a release after the lease', async () => {
    const { clock, ask, release, got } = setUp(1, 1000);
    for (const name of ['stuck', 'next', 'third']) void ask(name, 0);
    await clock.advance(1000);
    await release('stuck');
    await release('stuck');
    expect(got).toEqual(['stuck', 'next']);
    await release('next');
    await release('next');
    void ask('fourth', 0);
    await clock.settle();
    expect(got).toEqual(['stuck', 'next', 'third']);
  });

  test('removes an aborted waiter and its listener', async () => {
    const { clock, ask, release, got } = setUp(1);
    const abort = new AbortController();
    void ask('a', 0);
    const waiting = ask('b', 0, abort.signal);
    void ask('c', 0);
    const reason = new Aborted('not needed');
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await release('a');
    await clock.settle();
    expect(got).toEqual(['a', 'c']);
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
  });

  test('ignores an abort after the slot was granted', async () => {
    const { clock, ask, release, got } = setUp(1);
    const abort = new AbortController();
    void ask('a', 0);
    void ask('b', 0, abort.signal);
    await clock.settle();
    await release('a');
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
    abort.abort();
    void ask('c', 0);
    await clock.settle();
    expect(got).toEqual(['a', 'b']);
  });

  test('grants no slot if the signal is aborted already', async () => {
    const { ask, got } = setUp(1);
    await expect(ask('a', 0, AbortSignal.abort(new Aborted('x')))).rejects.toThrow('x');
    await ask('b', 0);
    expect(got).toEqual(['b']);
  });

  test('sets no timer for an infinite lease', async () => {
    const { clock, ask } = setUp(1, Number.POSITIVE_INFINITY);
    await ask('a', 0);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('rejects a count below one', () => {
    expect(() => setUp(0)).toThrow(RangeError);
    expect(() => setUp(Number.NaN)).toThrow(RangeError);
  });
});
