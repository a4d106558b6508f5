import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { SubjectAccessReview } from '../../api/k8s/types.ts';
import { type Access, AccessReviews } from './access-reviews.ts';

const { signal } = new AbortController();
const access: Access = {
  user: { name: 'bob', uid: 'u', groups: ['dev'], extra: { k: ['v'] } },
  verb: 'get',
  subresource: 'pods',
  path: '/pods',
};

function bench(ttl: { readonly allowedTtlMs?: number; readonly deniedTtlMs?: number } = {}) {
  const clock = new FakeClock(0);
  const specs: unknown[] = [];
  const api = {
    status: { allowed: true } as SubjectAccessReview['status'],
    create: async <T>(_path: string, body: unknown): Promise<T> => {
      specs.push((body as SubjectAccessReview).spec);
      return { status: api.status } as T;
    },
  };
  const reviews = new AccessReviews({
    api,
    clock,
    random: () => 0,
    nodeName: 'n1',
    allowedTtlMs: 300_000,
    deniedTtlMs: 30_000,
    ...ttl,
  });
  return { api, clock, reviews, specs };
}

describe('access reviews', () => {
  let b = bench();
  beforeEach(() => {
    b = bench();
  });

  test('review access to this node', async () => {
    expect(await b.reviews.isAllowed(access, signal)).toBe(true);
    expect(b.specs).toEqual([
      {
        resourceAttributes: {
          verb: 'get',
          version: 'v1',
          resource: 'nodes',
          subresource: 'pods',
          name: 'n1',
        },
        user: 'bob',
        uid: 'u',
        groups: ['dev'],
        extra: { k: ['v'] },
      },
    ]);
  });

  test('cache an allowed result for its TTL', async () => {
    await b.reviews.isAllowed(access, signal);
    b.api.status = { allowed: false };
    await b.clock.advance(299_999);
    expect(await b.reviews.isAllowed(access, signal)).toBe(true);
    await b.clock.advance(2);
    expect(await b.reviews.isAllowed(access, signal)).toBe(false);
    expect(b.specs).toHaveLength(2);
  });

  test('cache a denied result for its own TTL', async () => {
    b.api.status = { allowed: false };
    expect(await b.reviews.isAllowed(access, signal)).toBe(false);
    b.api.status = { allowed: true };
    await b.clock.advance(29_999);
    expect(await b.reviews.isAllowed(access, signal)).toBe(false);
    await b.clock.advance(2);
    expect(await b.reviews.isAllowed(access, signal)).toBe(true);
  });

  test('cache results per user, verb and subresource', async () => {
    const others: readonly Partial<Access>[] = [
      { verb: 'create' },
      { subresource: 'proxy' },
      { user: { ...access.user, groups: [] } },
      { user: { ...access.user, name: 'eve' } },
    ];
    await b.reviews.isAllowed(access, signal);
    for (const other of others) await b.reviews.isAllowed({ ...access, ...other }, signal);
    expect(b.specs).toHaveLength(5);
  });

  test('do not cache results for very long paths', async () => {
    const long = { ...access, path: `/pods/${'x'.repeat(10_000)}` };
    await b.reviews.isAllowed(long, signal);
    await b.reviews.isAllowed(long, signal);
    expect(b.specs).toHaveLength(2);
  });

  test('treat no decision as denied, and a contradiction as an error', async () => {
    b.api.status = { allowed: false, denied: true };
    expect(await b.reviews.isAllowed(access, signal)).toBe(false);
    b = bench();
    b.api.status = { allowed: true, denied: true };
    await expect(b.reviews.isAllowed(access, signal)).rejects.toThrow('both allows and denies');
  });

  test('do not cache with a TTL of 0', async () => {
    b = bench({ allowedTtlMs: 0 });
    await b.reviews.isAllowed(access, signal);
    await b.reviews.isAllowed(access, signal);
    expect(b.specs).toHaveLength(2);
  });
});
