import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { appArmorRejection, podLevelRejection, sysctlRejection } from './node-security.ts';

describe('sysctls', () => {
  const settings = { kernelRelease: '4.5.0-1-amd64', allowedUnsafe: ['kernel.msg*', 'net/core/somaxconn'] };
  const forbidden = (why: string): object => ({
    reason: 'SysctlForbidden',
    message: `forbidden sysctl: ${why}`,
  });
  const cases: readonly (readonly [string, string, PodOver, object | undefined])[] = [
    ['a safe sysctl', 'net.ipv4.tcp_syncookies', {}, undefined],
    ['a safe sysctl, with slashes', 'net/ipv4/tcp_syncookies', {}, undefined],
    ['safe since this kernel', 'net.ipv4.tcp_keepalive_time', {}, undefined],
    [
      'not safe on this kernel yet',
      'net.ipv4.tcp_rmem',
      {},
      forbidden('"net.ipv4.tcp_rmem" not allowlisted'),
    ],
    ['allowed by name', 'net.core.somaxconn', {}, undefined],
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
    ['host IPC does not matter for network sysctls', 'net.ipv4.tcp_syncookies', { hostIPC: true }, undefined],
  ];
  for (const [name, sysctl, over, want] of cases) {
    test(name, () => {
      const pod = aPod({ ...over, securityContext: { sysctls: [{ name: sysctl, value: '1' }] } });
      expect(sysctlRejection(pod, settings)).toEqual(want);
    });
  }
  test.each(['net.ipv4.tcp_slow_start_after_idle', 'net.ipv4.tcp_notsent_lowat'])(
    '%s became safe in 1.37',
    (name) => {
      const pod = aPod({ securityContext: { sysctls: [{ name, value: '1' }] } });
      expect(sysctlRejection(pod, { ...settings, kernelRelease: '4.15.0' })).toBeUndefined();
      expect(sysctlRejection(pod, settings)).toEqual(forbidden(`"${name}" not allowlisted`));
    },
  );
  test('accepts a pod without sysctls', () => expect(sysctlRejection(aPod(), settings)).toBeUndefined());
});

describe('AppArmor', () => {
  const no = { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
  const profile = (type: string): PodOver => ({ securityContext: { appArmorProfile: { type } } });
  const cases: readonly (readonly [string, PodOver, boolean, object | undefined])[] = [
    ['no profile requested', {}, false, undefined],
    ['requested and enabled', profile('RuntimeDefault'), true, undefined],
    ['requested and not enabled', profile('RuntimeDefault'), false, no],
    ['Unconfined needs no AppArmor', profile('Unconfined'), false, undefined],
    [
      'requested by annotation',
      { annotations: { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/x' } },
      false,
      no,
    ],
    [
      'requested by an init container',
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
    test(name, () => expect(appArmorRejection(aPod(over), enabled)).toEqual(want));
});

test('rejects pod-level resources with the gate off', () => {
  const pod = aPod({ resources: { limits: { cpu: '1' } } });
  expect(podLevelRejection(pod, false)).toEqual({
    reason: 'PodLevelResourcesNotSupported',
    message: 'PodLevelResources feature gate is disabled',
  });
  expect([podLevelRejection(pod, true), podLevelRejection(aPod(), false)]).toEqual([undefined, undefined]);
});
