import { expect, test } from 'vitest';
import { judgeApiServer } from './api-server.ts';
import type { ApiServerFacts, ClusterFacts } from './facts.ts';
import type { Fact } from './finding.ts';

const cluster: ClusterFacts = {
  source: 'kubeconfig',
  path: '/etc/kubelet.conf',
  server: 'https://api:6443/',
  isInsecure: false,
  credentials: 'certificate',
};
const answer = (status: number, version?: string): Fact<ApiServerFacts> => ({
  isKnown: true,
  value: { status, version, dateMs: undefined, nowMs: 0, roundTripMs: 1 },
});
const failed = (why: string): Fact<ApiServerFacts> => ({ isKnown: false, why });

const cases = [
  ['same version', answer(200, 'v1.37.2'), 'ok', 'v1.37.2', undefined],
  ['newer API server', answer(200, 'v1.40.0'), 'ok', 'v1.40.0', undefined],
  ['much newer API server', answer(200, 'v1.41.0'), 'warn', 'more than 3', 'upgrade the kubelet'],
  ['older API server', answer(200, 'v1.36.9'), 'warn', 'is older than this kubelet', 'control plane first'],
  ['no version', answer(200), 'ok', 'unknown version', undefined],
  ['forbidden', answer(403), 'ok', '(403)', undefined],
  ['rejected credentials', answer(401), 'fail', '(401)', 'join the cluster again'],
  ['a proxy without a server', answer(503), 'fail', '503', 'load balancer'],
  ['refused', failed('connect ECONNREFUSED 10.0.0.1:6443'), 'fail', 'ECONNREFUSED', 'start the API server'],
  ['no such name', failed('getaddrinfo ENOTFOUND api'), 'fail', 'ENOTFOUND', 'resolv.conf'],
  [
    'late',
    failed('the check did not finish within 5000 ms'),
    'fail',
    'did not finish',
    'curl -k https://api:6443/version',
  ],
  [
    'another CA',
    failed('self-signed certificate in certificate chain'),
    'fail',
    'self-signed',
    'certificate-authority',
  ],
  ['expired', failed('certificate has expired'), 'fail', 'expired', 'clock'],
  [
    'another name',
    failed("Hostname/IP does not match certificate's altnames"),
    'fail',
    'altnames',
    'tls-server-name',
  ],
  ['anything else', failed('broken'), 'fail', 'broken', 'curl -k https://api:6443/version'],
] as const;
test('a credential plugin may be what hangs', () => {
  const version = { major: 1, minor: 37 };
  const withPlugin = { isKnown: true, value: { ...cluster, credentials: 'plugin' } } as const;
  const late = failed('the check did not finish within 5000 ms');
  expect(judgeApiServer(withPlugin, late, { version }).fix).toContain('users[].user.exec');
  const refused = failed('connect ECONNREFUSED 10.0.0.1:6443');
  expect(judgeApiServer(withPlugin, refused, { version }).fix).toContain('start the API server');
});

for (const [name, api, status, words, fix] of cases)
  test(`${name} → ${status}`, () => {
    const finding = judgeApiServer({ isKnown: true, value: cluster }, api, {
      version: { major: 1, minor: 37 },
    });
    expect(finding.status).toBe(status);
    expect(finding.finding).toContain(words);
    if (fix !== undefined) expect(finding.fix).toContain(fix);
  });

test('no API server is expected in standalone mode or with an unusable kubeconfig', () => {
  const version = { version: { major: 1, minor: 37 } };
  const standalone = { isKnown: true, value: { ...cluster, source: 'standalone' } } as const;
  expect(judgeApiServer(standalone, failed('none'), version).status).toBe('ok');
  expect(judgeApiServer({ isKnown: false, why: 'unreadable' }, failed('none'), version).status).toBe('warn');
});
