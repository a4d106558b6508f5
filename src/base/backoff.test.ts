import { describe, expect, test } from 'vitest';
import { Backoff } from './backoff.ts';

const second = 1000;
const make = () => new Backoff<string>({ initialMs: 10 * second, maxMs: 300 * second });

describe('Backoff', () => {
  test('starts with the initial delay and doubles it up to the maximum', () => {
    const backoff = make();
    const delays = Array.from({ length: 7 }, (_, i) => backoff.next('a', i * second, i * second));
    expect(delays.map((ms) => ms / second)).toEqual([10, 20, 40, 80, 160, 300, 300]);
    expect(backoff.delay('a')).toBe(300 * second);
  });

  test('applies another factor', () => {
    const backoff = new Backoff<string>({ initialMs: 1, maxMs: 100, factor: 3 });
    expect([1, 2, 3].map((ms) => backoff.next('a', ms, ms))).toEqual([1, 3, 9]);
  });

  test('keeps keys independent', () => {
    const backoff = make();
    backoff.next('a', 0, 0);
    backoff.next('a', 0, 0);
    expect([backoff.delay('a'), backoff.delay('b')]).toEqual([20 * second, 0]);
    expect(backoff.next('b', 0, 0)).toBe(10 * second);
  });

  test('starts over after reset', () => {
    const backoff = make();
    backoff.next('a', 0, 0);
    backoff.next('a', 0, 0);
    backoff.reset('a');
    expect(backoff.delay('a')).toBe(0);
    expect(backoff.isInBackoffSince('a', 0, 1)).toBe(false);
    expect(backoff.next('a', 0, 0)).toBe(10 * second);
  });

  test.each([
    ['an event at twice the maximum continues', 600, 20],
    ['a later event starts over', 601, 10],
  ])('expiry: %s', (_name, eventSeconds, wantSeconds) => {
    const backoff = make();
    backoff.next('a', 0, 0);
    expect(backoff.next('a', eventSeconds * second, eventSeconds * second)).toBe(wantSeconds * second);
  });

  test('applies its own expiry', () => {
    const backoff = new Backoff<string>({ initialMs: 10, maxMs: 1000, expireMs: 50 });
    backoff.next('a', 0, 0);
    expect(backoff.next('a', 50, 50)).toBe(20);
    expect(backoff.next('a', 101, 101)).toBe(10);
  });

  test.each([
    ['right after the event', 100, 100, true],
    ['just inside the delay', 100, 109.999, true],
    ['when the delay has passed', 100, 110, false],
    ['an old event whose delay has passed', 50, 100, false],
    ['an event long after the last update: expired', 701, 701, false],
  ])('isInBackoffSince: %s', (_name, eventSeconds, nowSeconds, want) => {
    const backoff = make();
    backoff.next('a', 100 * second, 100 * second);
    expect(backoff.isInBackoffSince('a', eventSeconds * second, nowSeconds * second)).toBe(want);
  });

  test.each([
    ['at the update', 100, true],
    ['just inside the delay', 109.999, true],
    ['when the delay has passed', 110, false],
    ['long after', 701, false],
  ])('isInBackoffSinceUpdate: %s', (_name, atSeconds, want) => {
    const backoff = make();
    backoff.next('a', 0, 100 * second);
    expect(backoff.isInBackoffSinceUpdate('a', atSeconds * second)).toBe(want);
    expect(backoff.isInBackoffSinceUpdate('b', atSeconds * second)).toBe(false);
  });

  test('collect drops expired keys only', () => {
    const backoff = make();
    backoff.next('old', 0, 0);
    backoff.next('new', 100 * second, 100 * second);
    backoff.collect(600 * second);
    expect([backoff.delay('old'), backoff.delay('new')]).toEqual([10 * second, 10 * second]);
    backoff.collect(601 * second);
    expect([backoff.delay('old'), backoff.delay('new')]).toEqual([0, 10 * second]);
  });
});
