import { expect, test } from 'vitest';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { PodLifecycles } from './pod-lifecycles.ts';

const uid = asPodUid('u');
const ended = (atMs: number): PodLifecycle => ({ state: 'terminated', startedAtMs: 1, atMs, cleaned: true });

test('only changes are announced, after they were stored', () => {
  const store = new PodLifecycles();
  const heard: (PodLifecycle | undefined)[] = [];
  store.changed.subscribe((each) => heard.push(store.get(each)));
  store.put(uid, ended(2));
  store.put(uid, ended(2));
  store.put(uid, ended(3));
  store.delete(uid);
  store.delete(uid);
  expect(heard).toEqual([ended(2), ended(3), undefined]);
  expect(store.all().size).toBe(0);
});
