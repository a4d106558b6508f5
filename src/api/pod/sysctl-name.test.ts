import { expect, test } from 'vitest';
import { normalizeSysctl } from './sysctl-name.ts';

const cases = [
  ['kernel.sem', 'kernel.sem'],
  ['net/ipv4/ip_forward', 'net.ipv4.ip_forward'],
  ['net.ipv4.conf.eno2/100.rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
  ['net/ipv4/conf/eno2.100/rp_filter', 'net.ipv4.conf.eno2/100.rp_filter'],
  ['', ''],
] as const;
for (const [given, want] of cases)
  test(`normalizeSysctl: ${given || 'nothing'}`, () => expect(normalizeSysctl(given)).toBe(want));
