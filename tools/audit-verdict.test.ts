import { expect, test } from 'vitest';
import { auditVerdict } from './audit-verdict.ts';

const counts = { info: 0, low: 0, moderate: 0, high: 0, critical: 0, total: 0 };
const report = (vulnerabilities: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata: { vulnerabilities: counts } });

test.each([
  ['no finding', report({}), 'passed', 'audit: no advisory'],
  [
    'a moderate finding',
    report({ a: { name: 'a', severity: 'moderate' } }),
    'passed',
    'audit: 1 packages with lesser advisories',
  ],
  [
    'a high and a critical finding',
    report({ b: { severity: 'critical' }, a: { severity: 'high' }, c: { severity: 'low' } }),
    'failed',
    'audit: advisories for a (high), b (critical); see npm audit --omit=dev',
  ],
  [
    'an unreachable registry',
    JSON.stringify({ message: 'request to https://r/ failed', error: { summary: '', detail: '' } }),
    'skipped',
    'audit: skipped, request to https://r/ failed',
  ],
  [
    'a registry without audits',
    JSON.stringify({
      error: { code: 'ENOAUDIT', summary: 'Your configured registry does not support audits.\nx' },
    }),
    'skipped',
    'audit: skipped, ENOAUDIT: Your configured registry does not support audits.',
  ],
  [
    'an error without a message',
    '{"error":{}}',
    'skipped',
    'audit: skipped, the registry does not support audits',
  ],
  ['no report', '{"metadata":{}}', 'skipped', 'audit: skipped, npm audit printed no report'],
  ['no JSON', 'npm ERR!', 'skipped', 'audit: skipped, npm audit printed no JSON'],
  ['a timeout', undefined, 'skipped', 'audit: skipped, npm audit timed out'],
])('%s', (_, stdout, kind, line) => expect(auditVerdict(stdout)).toEqual({ kind, line }));
