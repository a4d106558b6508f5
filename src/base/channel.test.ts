import { describe, expect, test } from 'vitest';
import { Channel } from './channel.ts';

describe('Channel', () => {
  test('delivers synchronously, in the order of subscription', () => {
    const channel = new Channel<string>();
    const seen: string[] = [];
    channel.subscribe((key) => seen.push(`a:${key}`));
    channel.subscribe((key) => seen.push(`b:${key}`));
    channel.push('1');
    expect(seen).toEqual(['a:1', 'b:1']);
  });

  test('accepts a push without listeners', () => {
    expect(() => new Channel<number>().push(1)).not.toThrow();
  });

  test('unsubscribes one subscription only, even of the same function, and any number of times', () => {
    const channel = new Channel<number>();
    const seen: number[] = [];
    const listener = (key: number): void => void seen.push(key);
    const unsubscribe = channel.subscribe(listener);
    channel.subscribe(listener);
    unsubscribe();
    unsubscribe();
    channel.push(1);
    expect(seen).toEqual([1]);
  });

  test('skips a listener that was unsubscribed earlier in the same push', () => {
    const channel = new Channel<number>();
    const seen: string[] = [];
    channel.subscribe(() => {
      seen.push('a');
      unsubscribeB();
    });
    const unsubscribeB = channel.subscribe(() => seen.push('b'));
    channel.subscribe(() => seen.push('c'));
    channel.push(1);
    expect(seen).toEqual(['a', 'c']);
  });

  test('reaches the next listener if one unsubscribes itself', () => {
    const channel = new Channel<number>();
    const seen: string[] = [];
    const unsubscribe = channel.subscribe(() => {
      seen.push('a');
      unsubscribe();
    });
    channel.subscribe(() => seen.push('b'));
    channel.push(1);
    channel.push(2);
    expect(seen).toEqual(['a', 'b', 'b']);
  });

  test('a listener added during a push receives the next one', () => {
    const channel = new Channel<number>();
    const seen: number[] = [];
    const stop = channel.subscribe(() => {
      stop();
      channel.subscribe((key) => seen.push(key));
    });
    channel.push(1);
    expect(seen).toEqual([]);
    channel.push(2);
    expect(seen).toEqual([2]);
  });

  test('reports a throwing listener to onError and continues with the others', () => {
    const errors: unknown[] = [];
    const channel = new Channel<number>({ onError: (err) => errors.push(err) });
    const seen: number[] = [];
    const boom = new Error('boom');
    channel.subscribe(() => {
      throw boom;
    });
    channel.subscribe((key) => seen.push(key));
    channel.push(1);
    expect(seen).toEqual([1]);
    expect(errors).toEqual([boom]);
  });

  test('delivers a push from inside a listener first', () => {
    const channel = new Channel<number>();
    const seen: string[] = [];
    channel.subscribe((key) => {
      seen.push(`a${key}`);
      if (key === 1) channel.push(2);
    });
    channel.subscribe((key) => seen.push(`b${key}`));
    channel.push(1);
    expect(seen).toEqual(['a1', 'a2', 'b2', 'b1']);
  });
});
