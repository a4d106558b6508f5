import { describe, expect, test } from 'vitest';
import {
  collectionOf,
  describeRef,
  objectAt,
  podOfToken,
  requestedToken,
  watchedObject,
} from './kept-kinds.ts';

describe('objectAt', () => {
  for (const [path, want] of [
    ['/api/v1/namespaces/ns/configmaps/c', { kind: 'configmaps', key: 'ns/c' }],
    ['/api/v1/namespaces/ns/secrets/s', { kind: 'secrets', key: 'ns/s' }],
    ['/api/v1/namespaces/ns/persistentvolumeclaims/p', { kind: 'persistentvolumeclaims', key: 'ns/p' }],
    ['/api/v1/namespaces/ns/serviceaccounts/a', { kind: 'serviceaccounts', key: 'ns/a' }],
    ['/api/v1/persistentvolumes/v', { kind: 'persistentvolumes', key: 'v' }],
    ['/api/v1/namespaces/ns/pods/p', undefined],
    ['/api/v1/namespaces/ns/secrets', undefined],
    ['/api/v1/namespaces/ns/persistentvolumeclaims/p/status', undefined],
    ['/api/v1/persistentvolumes', undefined],
    ['/api/v1/nodes/n', undefined],
    ['/apis/storage.k8s.io/v1/volumeattachments/a', undefined],
    ['/api/v1/namespaces/ns/constructor/x', undefined],
  ] as const)
    test(`${path} → ${want === undefined ? 'not kept' : want.kind}`, () =>
      expect(objectAt(path)).toEqual(want));
});

test('a watch of one object by its name reads that object; other watches do not', () => {
  const path = '/api/v1/namespaces/ns/secrets';
  expect(watchedObject(path, 'metadata.name=a.b')).toEqual({ kind: 'secrets', key: 'ns/a.b' });
  expect(watchedObject(path, undefined)).toBeUndefined();
  expect(watchedObject(path, 'type=x')).toBeUndefined();
});

test('collections are those that every node may list', () => {
  expect(collectionOf('/api/v1/pods')).toBe('pods');
  expect(collectionOf('/apis/storage.k8s.io/v1/csidrivers')).toBe('csidrivers');
  expect(collectionOf('toString')).toBeUndefined();
});

describe('requestedToken', () => {
  const path = '/api/v1/namespaces/ns/serviceaccounts/a/token';
  const body = (over: object = {}): object => ({
    spec: {
      audiences: ['x'],
      expirationSeconds: 3607,
      boundObjectRef: { kind: 'Pod', name: 'p', uid: 'u' },
      ...over,
    },
  });
  test('is identified by its pod, account, audiences and lifetime', () => {
    const ref = requestedToken(path, body());
    expect(ref).toMatchObject({ kind: 'tokens', podUid: 'u' });
    expect(podOfToken(ref?.key ?? '')).toBe('u');
    expect(ref && describeRef(ref)).toBe('token of serviceaccount "ns/a"');
    expect(requestedToken(path, body({ audiences: ['y'] }))?.key).not.toBe(ref?.key);
    expect(requestedToken(path, body({ expirationSeconds: 600 }))?.key).not.toBe(ref?.key);
  });
  test('is not kept unless it is bound to a pod', () => {
    expect(requestedToken(path, body({ boundObjectRef: undefined }))).toBeUndefined();
    expect(requestedToken(path, body({ boundObjectRef: { kind: 'Secret', uid: 'u' } }))).toBeUndefined();
    expect(requestedToken('/api/v1/namespaces/ns/events', body())).toBeUndefined();
  });
});
