import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../base/log/log.ts';
import { Metrics } from '../../base/metrics.ts';
import { httpRequest } from '../fixtures/requests.ts';
import { routeTable } from '../route-table.ts';
import type { Admit } from '../router.ts';
import { AuthMetrics } from './auth-metrics.ts';
import { buildAdmission } from './build-admission.ts';

function build(given: {
  readonly clientCAFile?: string;
  readonly webhook?: boolean;
  readonly anonymous?: boolean;
  readonly mode?: string;
  readonly api?: boolean;
}): Admit {
  const ms = { ms: 1000 };
  return buildAdmission({
    config: {
      authentication: {
        x509: { clientCAFile: given.clientCAFile ?? '' },
        webhook: { enabled: given.webhook ?? false, cacheTTL: ms },
        anonymous: { enabled: given.anonymous ?? false },
      },
      authorization: {
        mode: given.mode ?? 'AlwaysAllow',
        webhook: { cacheAuthorizedTTL: ms, cacheUnauthorizedTTL: ms },
      },
    },
    api: given.api === true ? { create: () => Promise.reject(new Error('not called')) } : undefined,
    nodeName: 'n',
    settings: { fineGrained: true, allowGetStreams: false, certificateUids: true },
    hashKey: new Uint8Array(32),
    random: () => 0,
    metrics: new AuthMetrics(new Metrics(), new FakeClock(0)),
    clock: new FakeClock(0),
    log: silentLogger,
  });
}

test.each([
  // The configuration of the Kubernetes documentation for a standalone kubelet.
  [{}],
  [{ anonymous: true }],
  [{ clientCAFile: '/ca.crt' }],
  [{ webhook: true, mode: 'Webhook', api: true }],
])('%o is a valid configuration', (given) => {
  expect(build(given)).toBeTypeOf('function');
});

test.each([
  [{ webhook: true }, 'no client provided, cannot use webhook authentication'],
  [{ anonymous: true, mode: 'Webhook' }, 'no client provided, cannot use webhook authorization'],
])('%o is rejected: %s', (given, message) => {
  expect(() => build(given)).toThrow(message);
});

test('without any method of authentication no client is admitted', async () => {
  const row = routeTable.find(({ name }) => name === 'pods');
  if (row === undefined) throw new Error('no such route');
  expect(await build({})(httpRequest('GET /pods'), row)).toMatchObject({ status: 401 });
});
