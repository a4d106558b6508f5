import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { appArmorRefusal, podLevelRefusal, sysctlRefusal } from './node-security.ts';

describe('sysctls', () => {
  const settings = { kernelRelease: '4.5.0-1-amd64', allowedUnsafe: ['kernel.msg*', 'net/core/somaxconn'] };
  const forbidden = (why: string): object => ({
    reason: 'SysctlForbidden',
    message: `forbidden sysctl: ${why}`,
  });
  const cases: readonly (readonly [string, string, PodOver, object | undefined])[] = [
    ['a safe one', 'net.ipv4.tcp_syncookies', {}, undefined],
    ['a safe one, with slashes', 'net/ipv4/tcp_syncookies', {}, undefined],
    ['safe since this kernel', 'net.ipv4.tcp_keepalive_time', {}, undefined],
    [
      'not safe yet on this kernel',
      'net.ipv4.tcp_rmem',
      {},
      forbidden('"net.ipv4.tcp_rmem" not allowlisted'),
    ],
    ['allowed by its name', 'net.core.somaxconn', {}, undefined],
    ['allowed by a prefix', 'kernel.msgmax', {}, undefined],
    ['not allowed', 'kernel.sem', {}, forbidden('"kernel.sem" not allowlisted')],
    [
      "not on the node's network",
      'net/core/somaxconn',
      { hostNetwork: true },
      forbidden('"net.core.somaxconn" not allowed with host Net enabled'),
    ],
    [
      "not in the node's IPC",
      'kernel.msgmax',
      { hostIPC: true },
      forbidden('"kernel.msgmax" not allowed with host IPC enabled'),
    ],
    ['IPC of the node is no matter of networks', 'net.ipv4.tcp_syncookies', { hostIPC: true }, undefined],
  ];
  for (const [name, sysctl, over, want] of cases) {
    test(name, () => {
      const pod = aPod({ ...over, securityContext: { sysctls: [{ name: sysctl, value: '1' }] } });
      expect(sysctlRefusal(pod, settings)).toEqual(want);
    });
  }
  test('none asked for', () => expect(sysctlRefusal(aPod(), settings)).toBeUndefined());
});

describe('AppArmor', () => {
  const no = { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
  const profile = (type: string): PodOver => ({ securityContext: { appArmorProfile: { type } } });
  const cases: readonly (readonly [string, PodOver, boolean, object | undefined])[] = [
    ['not asked for', {}, false, undefined],
    ['asked for and there', profile('RuntimeDefault'), true, undefined],
    ['asked for and not there', profile('RuntimeDefault'), false, no],
    ['unconfined needs nothing', profile('Unconfined'), false, undefined],
    [
      'by annotation',
      { annotations: { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/x' } },
      false,
      no,
    ],
    [
      'by an init container',
      {
        initContainers: [
          aContainer({ name: 'i', securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }),
        ],
      },
      false,
      no,
    ],
  ];
  for (const [name, over, enabled, want] of cases)
    test(name, () => expect(appArmorRefusal(aPod(over), enabled)).toEqual(want));
});

test('amounts of a pod as a whole, with the gate off', () => {
  const pod = aPod({ resources: { limits: { cpu: '1' } } });
  expect(podLevelRefusal(pod, false)).toEqual({
    reason: 'PodLevelResourcesNotSupported',
    message: 'PodLevelResources feature gate is disabled',
  });
  expect([podLevelRefusal(pod, true), podLevelRefusal(aPod(), false)]).toEqual([undefined, undefined]);
});
