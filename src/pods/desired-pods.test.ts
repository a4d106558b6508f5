import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { DesiredPods } from './desired-pods.ts';

function watched(sources: readonly ('file' | 'http')[] = ['file']): {
  pods: DesiredPods;
  heard: string[];
} {
  const pods = new DesiredPods({ sources });
  const heard: string[] = [];
  pods.changed.subscribe((uid) => heard.push(uid));
  pods.ready.subscribe(() => heard.push('ready'));
  return { pods, heard };
}

test('announces added, changed and removed pods, and no others', () => {
  const { pods, heard } = watched();
  pods.set('file', [aPod({ name: 'a' }), aPod({ name: 'b' })]);
  expect(heard.splice(0)).toEqual(['uid-a', 'uid-b', 'ready']);
  pods.set('file', [aPod({ name: 'a' }), aPod({ name: 'b', hostname: 'changed' })]);
  expect(heard.splice(0)).toEqual(['uid-b']);
  pods.set('file', [aPod({ name: 'b', hostname: 'changed' })]);
  expect(heard.splice(0)).toEqual(['uid-a']);
  expect(pods.get(asPodUid('uid-a'))).toBeUndefined();
});

test('ignores a change of the seen annotation', () => {
  const { pods, heard } = watched();
  const seen = (at: string): ReturnType<typeof aPod> =>
    aPod({ annotations: { 'kubernetes.io/config.seen': at } });
  pods.set('file', [seen('1')]);
  heard.splice(0);
  pods.set('file', [seen('2')]);
  expect(heard).toEqual([]);
});

test('keeps the order of arrival of a changed pod', () => {
  const { pods } = watched();
  pods.set('file', [aPod({ name: 'a' })]);
  pods.set('file', [aPod({ name: 'a' }), aPod({ name: 'b' })]);
  pods.set('file', [aPod({ name: 'a', hostname: 'h' }), aPod({ name: 'b' })]);
  expect(pods.all().map(({ uid, order }) => [uid, order])).toEqual([
    ['uid-a', 1],
    ['uid-b', 2],
  ]);
});

test('reports the sources ready once each has reported, even without pods', () => {
  const { pods, heard } = watched(['file', 'http']);
  expect(pods.sourcesReady()).toBe(false);
  pods.set('file', []);
  expect(pods.sourcesReady()).toBe(false);
  pods.set('http', []);
  expect(pods.sourcesReady()).toBe(true);
  pods.set('http', []);
  expect(heard).toEqual(['ready']);
});

test('lets no source change or remove the pods of another', () => {
  const { pods } = watched(['file', 'http']);
  pods.set('file', [aPod({ name: 'a' })]);
  pods.set('http', [aPod({ name: 'a', hostname: 'other' })]);
  expect(pods.get(asPodUid('uid-a'))?.source).toBe('file');
  pods.set('http', []);
  expect(pods.get(asPodUid('uid-a'))?.pod.spec?.hostname).toBeUndefined();
});

test('increases the version on changes only', () => {
  const { pods } = watched();
  pods.set('file', []);
  expect(pods.version).toBe(0);
  pods.set('file', [aPod()]);
  pods.set('file', [aPod()]);
  expect(pods.version).toBe(1);
});

test('kept pods are announced, but their source has not reported before it sets its pods', () => {
  const { pods, heard } = watched();
  pods.setKept('file', [aPod({ name: 'a' }), aPod({ name: 'b' })]);
  expect([heard.splice(0), pods.sourcesReady()]).toEqual([['uid-a', 'uid-b'], false]);
  pods.set('file', [aPod({ name: 'a' })]);
  expect([heard, pods.sourcesReady()]).toEqual([['uid-b', 'ready'], true]);
});
