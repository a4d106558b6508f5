import { expect, test } from 'vitest';
import { quantityValue, resourceFormat, signalFormat, splitPod } from './explanation.ts';

test.each([
  ['100Mi', 104_857_600],
  ['1500', 1_500],
  ['2G', 2e9],
  ['1.5Gi', 1_610_612_736],
  ['0', 0],
  ['', undefined],
  ['ten', undefined],
])('reads the quantity %j as %s', (text, want) => {
  expect(quantityValue(text)).toBe(want);
});

test('writes inodes and process IDs as counts, everything else as bytes', () => {
  expect(signalFormat('nodefs.inodesFree')(12_345)).toBe('12,345');
  expect(signalFormat('pid.available')(undefined)).toBe('–');
  expect(signalFormat('memory.available')(104_857_600)).toBe('100 MiB');
  expect([
    resourceFormat('inodes of imagefs')(5),
    resourceFormat('pids')(5),
    resourceFormat('memory')(5),
  ]).toEqual(['5', '5', '5 B']);
});

test('splits a pod into namespace and name', () => {
  expect(splitPod('default/web')).toEqual({ namespace: 'default', name: 'web' });
  expect(splitPod('web')).toEqual({ namespace: '', name: 'web' });
});
