import { expect, test } from 'vitest';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import { type HealthCheck, leaseChecks } from './health.ts';
import type { HttpResponse } from './http-message.ts';
import { healthHandler } from './state-handlers.ts';

const well: HealthCheck = { name: 'syncloop', check: () => undefined };
const ill: HealthCheck = { name: 'runtime', check: () => 'no answer for 20s' };

async function ask(target: string, checks: readonly HealthCheck[]): Promise<HttpResponse> {
  return asResponse(await healthHandler(checks)(httpRequest(`GET ${target}`)));
}

const listOk = '[+]ping ok\n[+]log ok\n[+]syncloop ok\n';
const listIll = `${listOk}[-]runtime failed: reason withheld\n`;

const cases = [
  ['all well: one word', '/healthz', [well], 200, 'ok'],
  ['all well, in full', '/healthz?verbose', [well], 200, `${listOk}healthz check passed\n`],
  [
    'one ill: always in full, without the reason',
    '/healthz',
    [well, ill],
    500,
    `${listIll}healthz check failed\n`,
  ],
  [
    'excluded',
    '/healthz?verbose=1&exclude=runtime',
    [well, ill],
    200,
    `${listOk}[+]runtime excluded: ok\nhealthz check passed\n`,
  ],
  [
    'excluded in vain',
    '/healthz?exclude=a&exclude=b',
    [well, ill],
    500,
    `${listIll}warn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check failed\n`,
  ],
  ['ping', '/healthz/ping', [], 200, 'ok'],
  ['log', '/healthz/log', [], 200, 'ok'],
  ['one that is well', '/healthz/syncloop', [well], 200, 'ok'],
  [
    'one that is ill, with the reason',
    '/healthz/runtime',
    [ill],
    500,
    'internal server error: no answer for 20s\n',
  ],
  ['one that does not exist', '/healthz/pleg', [well], 404, '404 page not found\n'],
  ['nothing but health', '/pods', [], 404, '404 page not found\n'],
] as const;

for (const [name, target, checks, status, body] of cases) {
  test(`health: ${name}`, async () => {
    const answer = await ask(target, checks);
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  });
}

test('health: checks are asked anew each time', async () => {
  const found: { wrong?: string } = {};
  const handle = healthHandler([{ name: 'pleg', check: () => found.wrong }]);
  const get = async (): Promise<number> => {
    const answer = asResponse(await handle(httpRequest('GET /healthz')));
    return answer.status;
  };
  const before = await get();
  found.wrong = 'slow';
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
