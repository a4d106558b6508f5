import { describe, expect, test } from 'vitest';
import { judgeResolvConf } from './resolv-conf.ts';

describe('judgeResolvConf', () => {
  const cases = [
    ['not set', '', [], 'ok', 'not set'],
    ['servers', '/etc/resolv.conf', ['10.0.0.2', 'fd00::2'], 'ok', '10.0.0.2, fd00::2'],
    ['missing', '/etc/resolv.conf', undefined, 'fail', 'does not exist'],
    ['empty', '/etc/resolv.conf', [], 'warn', 'no name server'],
    ['systemd-resolved', '/etc/resolv.conf', ['127.0.0.53'], 'warn', 'CoreDNS detects a loop'],
    ['IPv6 loopback beside others', '/etc/resolv.conf', ['10.0.0.2', '::1'], 'warn', 'has ::1, which'],
    ['too many', '/etc/resolv.conf', ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'], 'warn', 'first 3'],
  ] as const;
  for (const [name, resolvConf, servers, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const value = { isMissing: servers === undefined, servers: servers ?? [] };
      const finding = judgeResolvConf({ isKnown: true, value }, { resolvConf });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
  test('a file that does not answer → warn', () =>
    expect(
      judgeResolvConf({ isKnown: false, why: 'late' }, { resolvConf: '/etc/resolv.conf' }),
    ).toMatchObject({ status: 'warn', finding: '/etc/resolv.conf cannot be determined: late' }));
});
