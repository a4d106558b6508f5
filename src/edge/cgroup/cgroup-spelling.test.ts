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
  test(`${plain} in both spellings, and back`, () => {
    expect([cgroupfsSpelling.path(name), systemdSpelling.path(name)]).toEqual([plain, slices]);
    expect([cgroupfsSpelling.nameOf(plain), systemdSpelling.nameOf(slices)]).toEqual([name, name]);
  });
}

describe('a part that leads elsewhere is refused', () => {
  for (const part of ['..', '.', '', 'a/b', 'a\0']) {
    for (const spelling of [cgroupfsSpelling, systemdSpelling])
      test(JSON.stringify(part), () => expect(() => spelling.path(['kubepods', part])).toThrow('no part of'));
  }
});
