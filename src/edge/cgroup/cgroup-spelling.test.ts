import { describe, expect, test } from 'vitest';
import { cgroupfsSpelling, systemdSpelling } from './cgroup-spelling.ts';

const names = [
  [[], '/', '/'],
  [['kubepods'], '/kubepods', '/kubepods.slice'],
  [
    ['kubepods', 'burstable', 'pod1-2-3'],
    '/kubepods/burstable/pod1-2-3',
    '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2_3.slice',
  ],
  [['top', 'kubepods'], '/top/kubepods', '/top.slice/top-kubepods.slice'],
] as const;

for (const [name, plain, slices] of names) {
  test(`converts ${plain} for both drivers, and back`, () => {
    expect([cgroupfsSpelling.path(name), systemdSpelling.path(name)]).toEqual([plain, slices]);
    expect([cgroupfsSpelling.nameOf(plain), systemdSpelling.nameOf(slices)]).toEqual([name, name]);
  });
}

describe('rejects a part that leads out of the hierarchy', () => {
  for (const part of ['..', '.', '', 'a/b', 'a\0']) {
    for (const spelling of [cgroupfsSpelling, systemdSpelling])
      test(JSON.stringify(part), () =>
        expect(() => spelling.path(['kubepods', part])).toThrow('cannot be part of'),
      );
  }
});
