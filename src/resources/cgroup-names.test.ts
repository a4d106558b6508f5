import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../testing/builders.ts';
import { type CgroupNaming, podCgroupParent, podCgroupPaths } from './cgroup-names.ts';

const uid = '12345678-90ab-cdef';
const resources = {
  BestEffort: {},
  Burstable: { requests: { cpu: '100m' } },
  Guaranteed: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
} as const;
const plain: CgroupNaming = { driver: 'cgroupfs', root: '', perQos: true };

describe('podCgroupParent', () => {
  const slice = '12345678_90ab_cdef.slice';
  const cases: readonly (readonly [keyof typeof resources, Partial<CgroupNaming>, string])[] = [
    ['BestEffort', {}, `/kubepods/besteffort/pod${uid}`],
    ['Burstable', {}, `/kubepods/burstable/pod${uid}`],
    ['Guaranteed', {}, `/kubepods/pod${uid}`],
    ['Guaranteed', { root: '/' }, `/kubepods/pod${uid}`],
    ['Burstable', { root: '/a/b-c' }, `/a/b-c/kubepods/burstable/pod${uid}`],
    [
      'BestEffort',
      { driver: 'systemd' },
      `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${slice}`,
    ],
    [
      'Burstable',
      { driver: 'systemd' },
      `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${slice}`,
    ],
    ['Guaranteed', { driver: 'systemd' }, `/kubepods.slice/kubepods-pod${slice}`],
    [
      'Guaranteed',
      { driver: 'systemd', root: '/a-b' },
      `/a_b.slice/a_b-kubepods.slice/a_b-kubepods-pod${slice}`,
    ],
    ['Burstable', { perQos: false }, ''],
    ['Burstable', { perQos: false, root: '/a', driver: 'systemd' }, ''],
  ];
  for (const [qos, naming, want] of cases) {
    test(`${qos} ${JSON.stringify(naming)} → ${want}`, () => {
      const pod = aPod({ uid, containers: [aContainer({ resources: resources[qos] })] });
      expect(podCgroupParent(pod, { ...plain, ...naming })).toBe(want);
    });
  }
});

describe('podCgroupPaths', () => {
  test('one place per class', () => {
    expect(podCgroupPaths('u', plain)).toEqual([
      'kubepods/podu',
      'kubepods/burstable/podu',
      'kubepods/besteffort/podu',
    ]);
    expect(podCgroupPaths('u', { ...plain, driver: 'systemd' })[1]).toBe(
      'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu.slice',
    );
  });
  test('none where pods have no cgroup of their own', () => {
    expect(podCgroupPaths('u', { ...plain, perQos: false })).toEqual([]);
  });
  test.each([['a/../../..'], [''], ['/']])('%j leads nowhere', (bad) => {
    expect(() => podCgroupPaths(bad, plain)).toThrow("cannot be part of a cgroup's name");
  });
});
