import { expect, test } from 'vitest';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { PodKills } from './pod-kills.ts';

const uid = asPodUid('u');

test('the first reason stays, the shortest grace period holds, everyone is answered once', async () => {
  const kills = new PodKills();
  const answers = [
    kills.add(uid, { reason: 'A', message: 'a' }),
    kills.add(uid, { reason: 'B', message: 'b', graceSeconds: 5 }),
    kills.add(uid, { reason: 'C', message: 'c', graceSeconds: 9 }),
  ];
  expect(kills.get(uid)).toEqual({ reason: 'A', message: 'a', graceSeconds: 5 });
  kills.settle(uid);
  kills.settle(uid);
  await Promise.all(answers);
  expect(kills.get(uid)).toBeUndefined();
});

test('who waits when the kubelet stops is told so', async () => {
  const kills = new PodKills();
  const answer = kills.add(uid, { reason: 'A', message: 'a' });
  kills.rejectAll(new Error('stopping'));
  await expect(answer).rejects.toThrow('stopping');
});
