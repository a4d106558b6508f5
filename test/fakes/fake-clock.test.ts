import { describe, expect, test } from 'vitest';
import { FakeClock } from './fake-clock.ts';

describe('FakeClock', () => {
  test('fires due timers by due time, then by creation, at their own time', async () => {
    const clock = new FakeClock();
    const seen: [string, number][] = [];
    const note = (name: string) => () => void seen.push([name, clock.monotonic()]);
    clock.setTimer(20, note('b'));
    clock.setTimer(10, note('a'));
    clock.setTimer(20, note('c'));
    clock.setTimer(31, note('late'));
    await clock.advance(30);
    expect(seen).toEqual([
      ['a', 10],
      ['b', 20],
      ['c', 20],
    ]);
    expect(clock.monotonic()).toBe(30);
    expect(clock.pendingTimers()).toBe(1);
  });

  test('fires timers that fired timers set, if they fall due within the advance', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const tick = (): void => {
      seen.push(clock.monotonic());
      clock.setTimer(10, tick);
    };
    clock.setTimer(10, tick);
    await clock.advance(35);
    expect(seen).toEqual([10, 20, 30]);
  });

  test('lets long promise chains and immediates settle between timers', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const chain = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      for (let i = 0; i < 50; i++) await Promise.resolve();
      seen.push(clock.monotonic());
    };
    clock.setTimer(10, () => void chain());
    clock.setTimer(11, () => void seen.push(-1));
    await clock.advance(20);
    expect(seen).toEqual([10, -1]);
  });

  test('one advance drives a sleeping loop through several rounds', async () => {
    const clock = new FakeClock();
    let rounds = 0;
    const loop = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(1000);
        rounds++;
      }
    };
    void loop();
    await clock.advance(5000);
    expect(rounds).toBe(5);
  });

  test('stepWall moves now() only', async () => {
    const clock = new FakeClock(1_000);
    let fired = false;
    clock.setTimer(10, () => {
      fired = true;
    });
    clock.stepWall(-500);
    await clock.advance(5);
    expect([clock.now(), clock.monotonic(), fired]).toEqual([505, 5, false]);
    clock.stepWall(1_000_000);
    await clock.settle();
    expect([clock.monotonic(), fired]).toEqual([5, false]);
  });

  test('cancelled timers neither fire nor count as pending', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const timers = [1, 2, 3, 4].map((n) => clock.setTimer(10, () => void seen.push(n)));
    timers[1]?.cancel();
    timers[1]?.cancel();
    expect(clock.pendingTimers()).toBe(3);
    await clock.advance(10);
    expect(seen).toEqual([1, 3, 4]);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('a timer that another one cancels at the same due time does not fire', async () => {
    const clock = new FakeClock();
    let fired = false;
    clock.setTimer(10, () => second.cancel());
    const second = clock.setTimer(10, () => {
      fired = true;
    });
    await clock.advance(10);
    expect(fired).toBe(false);
  });

  test('advance rejects with the error of a timer, and can be called again', async () => {
    const clock = new FakeClock();
    let fired = false;
    clock.setTimer(1, () => {
      throw new Error('boom');
    });
    clock.setTimer(2, () => {
      fired = true;
    });
    await expect(clock.advance(5)).rejects.toThrow('boom');
    await clock.advance(5);
    expect(fired).toBe(true);
  });

  test('overlapping advances add up', async () => {
    const clock = new FakeClock();
    await Promise.all([clock.advance(10), clock.advance(20)]);
    expect(clock.monotonic()).toBe(30);
  });

  test('a negative delay is due at once but not inside setTimer', async () => {
    const clock = new FakeClock();
    let fired = false;
    clock.setTimer(-5, () => {
      fired = true;
    });
    expect(fired).toBe(false);
    await clock.advance(0);
    expect([fired, clock.monotonic()]).toEqual([true, 0]);
  });

  test('an infinite delay never fires and NaN is rejected', () => {
    const clock = new FakeClock();
    clock.setTimer(Number.POSITIVE_INFINITY, () => undefined).cancel();
    expect(clock.pendingTimers()).toBe(0);
    expect(() => clock.setTimer(Number.NaN, () => undefined)).toThrow(RangeError);
  });
});

describe('FakeClock.until', () => {
  test('advances only as far as the promise needs', async () => {
    const clock = new FakeClock();
    clock.setTimer(10_000, () => undefined);
    const work = clock.sleep(300).then(() => 'done');
    expect(await clock.until(work)).toBe('done');
    expect(clock.monotonic()).toBe(300);
  });

  test('passes on a rejection', async () => {
    const clock = new FakeClock();
    const work = clock.sleep(3).then(() => Promise.reject(new Error('bad')));
    await expect(clock.until(work)).rejects.toThrow('bad');
  });

  test('fails when the promise does not settle in the given time, or ever', async () => {
    const clock = new FakeClock();
    await expect(clock.until(clock.sleep(300), 200)).rejects.toThrow('still pending after 200 ms');
    await expect(clock.until(new Promise(() => undefined))).rejects.toThrow('still pending');
  });
});
