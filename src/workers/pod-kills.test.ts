import { expect, test } from 'vitest';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { PodKills } from './pod-kills.ts';

const uid = asPodUid('u');

test('keeps the first reason and the shortest grace period, and settles every caller once', async () => {
  const kills = new PodKills();
  const pending = [
    kills.kill(uid, { reason: 'A', message: 'a' }),
    kills.kill(uid, { reason: 'B', message: 'b', graceSeconds: 5 }),
    kills.kill(uid, { reason: 'C', message: 'c', graceSeconds: 9 }),
  ];
  expect(kills.get(uid)).toEqual({ reason: 'A', message: 'a', graceSeconds: 5 });
  kills.settle(uid);
  kills.settle(uid);
  await Promise.all(pending);
  expect(kills.get(uid)).toBeUndefined();
});

test('rejects the callers when the kubelet stops', async () => {
  const kills = new PodKills();
  const pending = kills.kill(uid, { reason: 'A', message: 'a' });
  kills.rejectAll(new Error('stopping'));
  await expect(pending).rejects.toThrow('stopping');
});
