import { expect, test } from 'vitest';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { PodLifecycles } from './pod-lifecycles.ts';

const uid = asPodUid('u');
const terminated = (atMs: number): PodLifecycle => ({
  state: 'terminated',
  startedAtMs: 1,
  atMs,
  cleaned: true,
});

test('announces only changes, after they were stored', () => {
  const store = new PodLifecycles();
  const announced: (PodLifecycle | undefined)[] = [];
  store.changed.subscribe((each) => announced.push(store.get(each)));
  store.put(uid, terminated(2));
  store.put(uid, terminated(2));
  store.put(uid, terminated(3));
  store.delete(uid);
  store.delete(uid);
  expect(announced).toEqual([terminated(2), terminated(3), undefined]);
  expect(store.all().size).toBe(0);
});
