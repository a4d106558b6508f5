import { expect, test } from 'vitest';
import { computeVersionSkew, type ServerVersion, type VersionSkew } from './version-skew.ts';

const cases: readonly (readonly [string, string, ServerVersion, VersionSkew])[] = [
  ['the same minor', 'v1.37.0', { major: '1', minor: '37' }, 'supported'],
  ['a newer patch release of the kubelet', 'v1.37.9', { major: '1', minor: '37' }, 'supported'],
  ['an older API server', 'v1.37.0', { major: '1', minor: '36' }, 'kubelet-too-new'],
  ['an API server of a provider', 'v1.37.0', { major: '1', minor: '34+' }, 'kubelet-too-new'],
  ['an API server three minors newer', 'v1.37.0', { major: '1', minor: '40' }, 'supported'],
  ['an API server four minors newer', 'v1.37.0', { major: '1', minor: '41' }, 'kubelet-too-old'],
  ['another major', 'v1.37.0', { major: '2', minor: '0' }, 'unknown'],
  ['a server that is not Kubernetes', 'v1.37.0', {}, 'unknown'],
  ['a version in another form', 'v1.37.0', { major: 1, minor: 'x' }, 'unknown'],
  ['a hostile version', 'v1.37.0', { major: '1', minor: '3'.repeat(1_000_000) }, 'kubelet-too-old'],
  ['a kubelet without a version', '', { major: '1', minor: '37' }, 'unknown'],
];
for (const [name, kubelet, server, want] of cases)
  test(`computeVersionSkew: ${name}`, () => expect(computeVersionSkew(kubelet, server)).toBe(want));
