import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { TokenRequest } from '../api/k8s/types.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';

describe('service account tokens', () => {
  let clock: FakeClock;
  let tokens: ServiceAccountTokens;
  let created: number;
  let requests: number;
  let failTimes: number;
  let beganMs: number;
  let failure: KubeletError | undefined;
  const signal = new AbortController().signal;
  const hourMs = 3_600_000;

  beforeEach(() => {
    clock = new FakeClock();
    created = 0;
    requests = 0;
    failTimes = Number.POSITIVE_INFINITY;
    beganMs = clock.now();
    failure = undefined;
    tokens = new ServiceAccountTokens({
      create: async (_namespace, _name, request) => {
        requests++;
        await clock.sleep(10);
        if (failure !== undefined && requests <= failTimes) throw failure;
        created++;
        const seconds = request.spec?.expirationSeconds ?? 3600;
        return {
          spec: { ...request.spec, expirationSeconds: seconds, audiences: request.spec?.audiences ?? [] },
          status: {
            token: `token-${created}`,
            expirationTimestamp: new Date(clock.now() + seconds * 1000).toISOString(),
          },
        };
      },
      clock,
      log: silentLogger,
      random: () => 0.5,
    });
  });

  function request(
    options: { readonly seconds?: number; readonly audience?: string; readonly uid?: string } = {},
  ) {
    const { audience = 'api', seconds = 3600, uid = 'pod-1' } = options;
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid };
    return {
      spec: { audiences: [audience], expirationSeconds: seconds, boundObjectRef },
    } satisfies TokenRequest;
  }

  async function get(options: Parameters<typeof request>[0] = {}): Promise<string> {
    const found = clock.until(tokens.get('default', 'sa', request(options), signal));
    return await found.then(
      ({ status }) => status?.token ?? '',
      (err: unknown) => String(err),
    );
  }

  describe('ServiceAccountTokens', () => {
    test('renews a token after 80 % of its lifetime, less a jitter', async () => {
      expect(await get()).toBe('token-1');
      await clock.advance(0.8 * hourMs - 5_000 - 100);
      expect(await get()).toBe('token-1');
      await clock.advance(200);
      expect(await get()).toBe('token-2');
    });

    test('renews every token after a day', async () => {
      await get({ seconds: 7 * 24 * 3600 });
      await clock.advance(24 * hourMs - 6_000);
      expect(await get({ seconds: 7 * 24 * 3600 })).toBe('token-1');
      await clock.advance(2_000);
      expect(await get({ seconds: 7 * 24 * 3600 })).toBe('token-2');
    });

    test('a clock that was years ahead when a token arrived delays no renewal', async () => {
      const yearsMs = 30 * 365 * 24 * hourMs;
      const arrived = new ServiceAccountTokens({
        create: async (_namespace, _name, asked) => {
          requests++;
          const expirationTimestamp = new Date(beganMs + hourMs).toISOString();
          return { ...asked, status: { token: `token-${requests}`, expirationTimestamp } };
        },
        clock,
        log: silentLogger,
        random: () => 0.5,
      });
      const next = async (): Promise<string | undefined> =>
        (await arrived.get('default', 'sa', request(), signal)).status?.token;
      clock.stepWall(yearsMs);
      expect(await next()).toBe('token-1');
      clock.stepWall(-yearsMs);
      expect(await next()).toBe('token-1');
      await clock.advance(hourMs);
      expect(await next()).toBe('token-2');
    });

    test('caches tokens per audience, lifetime and pod', async () => {
      const all = [
        await get(),
        await get({ audience: 'vault' }),
        await get({ seconds: 600 }),
        await get({ uid: 'pod-2' }),
      ];
      expect(all).toEqual(['token-1', 'token-2', 'token-3', 'token-4']);
    });

    test('shares one request among concurrent callers', async () => {
      const both = [tokens.get('d', 's', request(), signal), tokens.get('d', 's', request(), signal)];
      const [a, b] = await clock.until(Promise.all(both));
      expect(a).toBe(b);
      expect(created).toBe(1);
    });

    test('returns a token until it expires while the server is unreachable', async () => {
      await get();
      failure = new KubeletError('unavailable', 'ConnectionFailed', 'unreachable');
      await clock.advance(0.9 * hourMs);
      expect(await get()).toBe('token-1');
      await clock.advance(0.1 * hourMs);
      expect(await get()).toContain('token of default/sa expired and refresh failed: unreachable');
    });

    test('retries soon when the authorizer has not seen the pod yet', async () => {
      failure = new KubeletError('forbidden', 'Forbidden', 'no relationship found');
      failTimes = 2;
      expect(await get()).toBe('token-1');
      expect(clock.now() - beganMs).toBeLessThan(300);
    });

    test('fails when access stays forbidden', async () => {
      failure = new KubeletError('forbidden', 'Forbidden', 'not yours');
      expect(await get()).toContain('failed to fetch token: not yours');
      expect(requests).toBe(5);
    });

    test('fails at once on other errors', async () => {
      failure = new KubeletError('not-found', 'NotFound', 'no such account');
      expect(await get()).toContain('failed to fetch token: no such account');
      expect(requests).toBe(1);
    });

    test('fails with the reason and its kind without a cached token', async () => {
      failure = new KubeletError('forbidden', 'Forbidden', 'not yours');
      const err: unknown = await clock
        .until(tokens.get('default', 'sa', request(), signal))
        .catch((cause: unknown) => cause);
      expect(err).toMatchObject({
        kind: 'forbidden',
        reason: 'Forbidden',
        message: 'failed to fetch token: not yours',
      });
    });

    test('removes the tokens of a deleted pod', async () => {
      await get();
      await get({ uid: 'pod-2' });
      tokens.forgetPod('pod-1');
      expect([await get(), await get({ uid: 'pod-2' })]).toEqual(['token-3', 'token-2']);
    });
  });
});
