import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { TokenReview } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { TokenReviews } from './token-reviews.ts';

const { signal } = new AbortController();
const minuteMs = 60_000;

function bench(ttlMs = 2 * minuteMs) {
  const clock = new FakeClock(0);
  const bodies: unknown[] = [];
  const api = {
    next: async (): Promise<NonNullable<TokenReview['status']>> => ({
      authenticated: true,
      user: { username: 'bob' },
    }),
    create: async <T>(_path: string, body: unknown): Promise<T> => {
      bodies.push(body);
      return { status: await api.next() } as T;
    },
  };
  const reviews = new TokenReviews({ api, clock, random: () => 0, ttlMs, hashKey: new Uint8Array(32) });
  return { api, bodies, clock, reviews };
}

describe('token reviews', () => {
  let b = bench();
  beforeEach(() => {
    b = bench();
  });

  test('review a token without audiences, once per TTL', async () => {
    expect(await b.reviews.userOf('t', signal)).toEqual({ name: 'bob', uid: '', groups: [], extra: {} });
    await b.clock.advance(2 * minuteMs - 1);
    await b.reviews.userOf('t', signal);
    expect(b.bodies).toEqual([
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 't' } },
    ]);
    await b.clock.advance(2);
    await b.reviews.userOf('t', signal);
    expect(b.bodies).toHaveLength(2);
  });

  test('cache a rejection without an error', async () => {
    b.api.next = async () => ({ authenticated: false });
    expect(await b.reviews.userOf('t', signal)).toBeUndefined();
    expect(await b.reviews.userOf('t', signal)).toBeUndefined();
    expect(b.bodies).toHaveLength(1);
  });

  test('report a rejection with an error and do not cache it', async () => {
    b.api.next = async () => ({ error: 'token has expired' });
    await expect(b.reviews.userOf('t', signal)).rejects.toThrow('token has expired');
    await expect(b.reviews.userOf('t', signal)).rejects.toThrow('token has expired');
    expect(b.bodies).toHaveLength(2);
  });

  test('do not cache with a TTL of 0', async () => {
    b = bench(0);
    await b.reviews.userOf('t', signal);
    await b.reviews.userOf('t', signal);
    expect(b.bodies).toHaveLength(2);
  });

  test('share one review per token in flight', async () => {
    await Promise.all(['a', 'a', 'b', 'a'].map((token) => b.reviews.userOf(token, signal)));
    expect(b.bodies).toHaveLength(2);
  });

  test('a review that hangs blocks only its own request, until its deadline', async () => {
    const { next } = b.api;
    b.api.next = () => new Promise(() => undefined);
    const hung = b.reviews.userOf('hangs', signal);
    const leaves = new AbortController();
    const left = b.reviews.userOf('hangs', leaves.signal);
    leaves.abort();
    await expect(left).rejects.toThrow('aborted');
    b.api.next = next;
    expect(await b.reviews.userOf('other', signal)).toMatchObject({ name: 'bob' });
    const failed = expect(hung).rejects.toMatchObject({ kind: 'timeout' });
    await b.clock.advance(10_000);
    await failed;
    expect(await b.reviews.userOf('hangs', signal)).toMatchObject({ name: 'bob' });
  });

  const errors = [
    ['InternalError', 5],
    ['TooManyRequests', 5],
    ['ConnectionBroken', 5],
    ['ConnectionRefused', 1],
    ['Forbidden', 1],
  ] as const;
  for (const [reason, attempts] of errors) {
    test(`attempt ${reason} ${attempts} times and do not cache it`, async () => {
      b.api.next = () => Promise.reject(new KubeletError('internal', reason, 'broken'));
      const failed = expect(b.reviews.userOf('t', signal)).rejects.toThrow('broken');
      await b.clock.advance(9_000);
      await failed;
      expect(b.bodies).toHaveLength(attempts);
      b.api.next = async () => ({ authenticated: true, user: { username: 'bob' } });
      expect(await b.reviews.userOf('t', signal)).toMatchObject({ name: 'bob' });
    });
  }

  test('do not send a token that is too long to the API server', async () => {
    await expect(b.reviews.userOf('t'.repeat(16 * 1024 + 1), signal)).rejects.toThrow('too long');
    expect(b.bodies).toEqual([]);
  });

  test('limit concurrent reviews per address without blocking other addresses', async () => {
    const { next } = b.api;
    b.api.next = () => new Promise(() => undefined);
    const pending = Array.from({ length: 20 }, (_, each) =>
      b.reviews.userOf(`forged-${each}`, new AbortController().signal, '192.0.2.1'),
    );
    const settled = Promise.allSettled(pending);
    expect(b.bodies).toHaveLength(8);
    b.api.next = next;
    expect(await b.reviews.userOf('good', signal, '192.0.2.2')).toMatchObject({ name: 'bob' });
    await b.clock.advance(10_000);
    await settled;
    expect(await b.reviews.userOf('good-too', signal, '192.0.2.1')).toMatchObject({ name: 'bob' });
  });

  test('do not evict valid tokens for forged ones', async () => {
    await b.reviews.userOf('good', signal);
    b.api.next = async () => ({ authenticated: false });
    for (let each = 0; each < 40_000; each++) await b.reviews.userOf(`forged-${each}`, signal);
    const before = b.bodies.length;
    expect(await b.reviews.userOf('good', signal)).toMatchObject({ name: 'bob' });
    expect(b.bodies).toHaveLength(before);
  });
});
