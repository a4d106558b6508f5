import { expect, test } from 'vitest';
import { VolumesInUse } from './volumes-in-use.ts';

function inUse(users: { readonly isLoaded: boolean }) {
  const operations = { plugins: [], users: Object.assign(users, { attachNames: () => ['a'] }) };
  const mounts = { ofPod: () => [], pods: () => [] };
  const deps = { operations, mounts, attachments: undefined, pods: new Map() } as unknown;
  const volumes = new VolumesInUse(deps as ConstructorParameters<typeof VolumesInUse>[0]);
  let count = 0;
  volumes.changed.subscribe(() => (count += 1));
  return { volumes, announced: () => count };
}

const ready = { sourcesReady: () => true };

test('is announced once per change', () => {
  const { announced, volumes } = inUse({ isLoaded: true });
  volumes.pokeAll();
  volumes.pokeAll();
  expect([announced(), volumes.report(ready)]).toEqual([1, ['a']]);
});

test('is announced again after a status without it, although the volumes are the same', () => {
  const users = { isLoaded: false };
  const { announced, volumes } = inUse(users);
  volumes.pokeAll();
  expect([announced(), volumes.report(ready)]).toEqual([1, undefined]);
  users.isLoaded = true;
  volumes.pokeAll();
  expect([announced(), volumes.report(ready)]).toEqual([2, ['a']]);
  expect(volumes.report({ sourcesReady: () => false })).toBeUndefined();
});
