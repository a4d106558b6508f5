import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import {
  containerLogPath,
  isUid,
  podDirectory,
  podLogDirectory,
  podLogDirectoryOf,
  podOfLogDirectory,
} from './paths.ts';

test('builds the same paths as upstream', () => {
  const pod = aPod({ name: 'n', namespace: 'ns', uid: 'u-1' });
  expect([
    podLogDirectory('/var/log/pods', pod),
    containerLogPath('c', 3),
    podDirectory('/var/lib/kubelet', 'u-1'),
  ]).toEqual(['/var/log/pods/ns_n_u-1', 'c/3.log', '/var/lib/kubelet/pods/u-1']);
});

describe('rejects names that escape their directory', () => {
  test.each([['..'], ['.'], [''], ['../../etc'], ['a/b'], ['a\0b']])('UID %j', (uid) => {
    expect(() => podDirectory('/var/lib/kubelet', uid)).toThrow('cannot be used as a directory name');
  });
  test.each([
    ['../..', 'n', 'u'],
    ['ns', 'a/../..', 'u'],
    ['ns', 'n', '/../../..'],
  ])('log of %s %s %s', (namespace, name, uid) => {
    expect(() => podLogDirectoryOf('/var/log/pods', namespace, name, uid)).toThrow(
      'cannot be used as a directory name',
    );
  });
});

test('finds the pod of a log directory', () => {
  expect(podOfLogDirectory('ns_name_uid-1')).toEqual({ namespace: 'ns', name: 'name', uid: 'uid-1' });
  for (const other of ['notes', 'a_b', 'a_b_', '_b_c', 'a_b_c_d', 'a_b_..', 'a_b_lost+found']) {
    expect(podOfLogDirectory(other), other).toBeUndefined();
  }
  expect(['0b1c-uid', 'lost+found', '..', ''].map(isUid)).toEqual([true, false, false, false]);
});
