import { expect, test } from 'vitest';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import { type HealthCheck, leaseChecks } from './health.ts';
import type { HttpResponse } from './http-message.ts';
import { healthHandler } from './state-handlers.ts';

const healthy: HealthCheck = { name: 'syncloop', check: () => undefined };
const unhealthy: HealthCheck = { name: 'runtime', check: () => 'no answer for 20s' };

async function ask(target: string, checks: readonly HealthCheck[]): Promise<HttpResponse> {
  return asResponse(await healthHandler(checks)(httpRequest(`GET ${target}`)));
}

const listOk = '[+]ping ok\n[+]log ok\n[+]syncloop ok\n';
const listUnhealthy = `${listOk}[-]runtime failed: reason withheld\n`;

const cases = [
  ['ok if all checks pass', '/healthz', [healthy], 200, 'ok'],
  ['the list of checks with ?verbose', '/healthz?verbose', [healthy], 200, `${listOk}healthz check passed\n`],
  [
    'always the list if a check fails, without the reason',
    '/healthz',
    [healthy, unhealthy],
    500,
    `${listUnhealthy}healthz check failed\n`,
  ],
  [
    'an excluded check',
    '/healthz?verbose=1&exclude=runtime',
    [healthy, unhealthy],
    200,
    `${listOk}[+]runtime excluded: ok\nhealthz check passed\n`,
  ],
  [
    'excludes without a match',
    '/healthz?exclude=a&exclude=b',
    [healthy, unhealthy],
    500,
    `${listUnhealthy}warn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check failed\n`,
  ],
  ['ping', '/healthz/ping', [], 200, 'ok'],
  ['log', '/healthz/log', [], 200, 'ok'],
  ['a single check that passes', '/healthz/syncloop', [healthy], 200, 'ok'],
  [
    'a single check that fails, with the reason',
    '/healthz/runtime',
    [unhealthy],
    500,
    'internal server error: no answer for 20s\n',
  ],
  ['an unknown check', '/healthz/pleg', [healthy], 404, '404 page not found\n'],
  ['no other path', '/pods', [], 404, '404 page not found\n'],
] as const;

for (const [name, target, checks, status, body] of cases) {
  test(`health: ${name}`, async () => {
    const answer = await ask(target, checks);
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  });
}

test('health: runs the checks for every request', async () => {
  const state: { failure?: string } = {};
  const handle = healthHandler([{ name: 'pleg', check: () => state.failure }]);
  const get = async (): Promise<number> => {
    const answer = asResponse(await handle(httpRequest('GET /healthz')));
    return answer.status;
  };
  const before = await get();
  state.failure = 'slow';
  expect([before, await get()]).toEqual([200, 500]);
});

test('health: a lease that is not renewed is reported but does not fail /healthz', async () => {
  const checks = leaseChecks({ health: () => 'not renewed for 50s' });
  expect(await ask('/healthz?verbose', checks)).toMatchObject({
    status: 200,
    body: '[+]ping ok\n[+]log ok\n[!]lease failed, which does not count: reason withheld\nhealthz check passed\n',
  });
  expect((await ask('/healthz/lease', checks)).body).toBe('internal server error: not renewed for 50s\n');
  expect(leaseChecks(undefined)).toEqual([]);
});
