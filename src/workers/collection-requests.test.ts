import { expect, test } from 'vitest';
import { asPodUid } from '../api/pod/pod-ref.ts';
import type { CollectionCause } from '../api/ports/garbage-scope.ts';
import { Aborted } from '../base/errors.ts';
import { CollectionRequests } from './collection-requests.ts';

const uid = asPodUid('u');

test('collects once for all that requested it, under pressure if any of them does', async () => {
  const requests = new CollectionRequests();
  const callers = [requests.add(uid, 'pass'), requests.add(uid, 'pressure'), requests.add(uid, 'pass')];
  const causes: CollectionCause[] = [];
  await requests.serve(uid, async (cause) => void causes.push(cause));
  await requests.serve(uid, async (cause) => void causes.push(cause));
  await Promise.all(callers);
  expect(causes).toEqual(['pressure']);
});

test('a request that arrives during a collection is served by the next run', async () => {
  const requests = new CollectionRequests();
  const settled: string[] = [];
  const first = requests.add(uid, 'pass').then(() => settled.push('pass'));
  await requests.serve(uid, async () => {
    void requests.add(uid, 'pressure').then(() => settled.push('pressure'));
  });
  await first;
  expect(settled).toEqual(['pass']);
  const causes: CollectionCause[] = [];
  await requests.serve(uid, async (cause) => void causes.push(cause));
  expect([causes, settled]).toEqual([['pressure'], ['pass', 'pressure']]);
});

test('a cancelled run keeps its requests, a failed one rejects them', async () => {
  const requests = new CollectionRequests();
  const first = requests.add(uid, 'pass');
  let second = Promise.resolve();
  const cancelled = requests.serve(uid, async () => {
    second = requests.add(uid, 'pressure');
    throw new Aborted('cancelled');
  });
  await expect(cancelled).rejects.toThrow('cancelled');
  const failed = Promise.allSettled([first, second]);
  await requests.serve(uid, async (cause) => {
    throw new Error(`failed under ${cause}`);
  });
  const reason = new Error('failed under pressure');
  expect(await failed).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
});
