import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Metrics } from '../../base/metrics.ts';
import { AuthMetrics } from './auth-metrics.ts';

const { signal } = new AbortController();

test('counts reviews by the HTTP status of the API server, with their duration', async () => {
  const registry = new Metrics();
  const clock = new FakeClock(0);
  let failure: Error | undefined;
  const api = new AuthMetrics(registry, clock).timed('authz', {
    create: async <T>() => {
      await clock.sleep(600, signal);
      if (failure !== undefined) throw failure;
      return {} as T;
    },
  });
  const review = async (): Promise<unknown> => {
    const result = api.create('/reviews', {}, { signal }).catch((err: unknown) => err);
    await clock.advance(600);
    return await result;
  };
  await review();
  failure = new KubeletError('forbidden', 'Forbidden', 'no', { details: { code: 403 } });
  expect(await review()).toBe(failure);
  failure = new KubeletError('unavailable', 'ConnectionRefused', 'no answer');
  await review();
  const text = registry.render();
  for (const code of ['201', '403', '<error>']) {
    expect(text).toContain(`apiserver_delegated_authz_request_total{code="${code}"} 1\n`);
    expect(text).toContain(
      `apiserver_delegated_authz_request_duration_seconds_bucket{code="${code}",le="0.7"} 1\n`,
    );
    expect(text).toContain(
      `apiserver_delegated_authz_request_duration_seconds_bucket{code="${code}",le="0.5"} 0\n`,
    );
  }
  expect(text).not.toContain('apiserver_delegated_authn_request_total{');
});

test('observes the remaining lifetime of a client certificate', () => {
  const registry = new Metrics();
  new AuthMetrics(registry, new FakeClock(1_000_000)).observeCertificate(1_000_000 + 3_000_000);
  const text = registry.render();
  expect(text).toContain('apiserver_client_certificate_expiration_seconds_bucket{le="1800"} 0\n');
  expect(text).toContain('apiserver_client_certificate_expiration_seconds_bucket{le="3600"} 1\n');
});
