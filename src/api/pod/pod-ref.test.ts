import { describe, expect, test } from 'vitest';
import type { Pod } from '../k8s/types.ts';
import {
  asContainerId,
  formatContainerId,
  parseContainerId,
  podFullName,
  podRef,
  podUid,
} from './pod-ref.ts';

describe('pod names', () => {
  const pod: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u-1' } };
  test('of a pod with metadata', () => {
    expect([podRef(pod), podFullName(pod), podUid(pod)]).toEqual(['shop/web', 'web_shop', 'u-1']);
  });
  test('without a namespace', () => {
    expect(podRef({ metadata: { name: 'web' } })).toBe('web');
  });
  test('of an empty object', () => {
    expect([podRef({}), podFullName({}), podUid({})]).toEqual(['', '_', '']);
  });
});

describe('container IDs', () => {
  test('formats and parses', () => {
    const text = formatContainerId('containerd', asContainerId('abc'));
    expect(text).toBe('containerd://abc');
    expect(parseContainerId(text)).toEqual({ runtime: 'containerd', id: 'abc' });
  });
  test('parses the quoted form of old statuses', () => {
    expect(parseContainerId('"docker://x"')).toEqual({ runtime: 'docker', id: 'x' });
  });
  test.each(['', 'abc', '://abc', 'containerd://'])('rejects %j', (text) => {
    expect(parseContainerId(text)).toBeUndefined();
  });
});
