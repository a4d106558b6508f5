// The secure port of a whole kubelet in memory: responses, authentication, and when it opens.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bodyText, httpRequest } from '../../../src/server/fixtures/requests.ts';
import { aPod } from '../../builders/builders.ts';
import { ClusterWorld, readyOf } from '../../simulate/cluster-world.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const webhook = {
  authentication: {
    x509: { clientCAFile: '' },
    webhook: { enabled: true, cacheTTL: { ms: 120_000 } },
    anonymous: { enabled: false },
  },
  authorization: {
    mode: 'Webhook',
    webhook: { cacheAuthorizedTTL: { ms: 300_000 }, cacheUnauthorizedTTL: { ms: 30_000 } },
  },
} as unknown as NonNullable<ConstructorParameters<typeof FakeNode>[0]>['config'];

describe('a node without a cluster', () => {
  let node: FakeNode;
  beforeEach(() => {
    node = new FakeNode();
  });
  afterEach(() => node.stop());

  test('serves anonymous clients if so configured', async () => {
    node.write('web.yaml', aPod({ name: 'web' }));
    await node.start();
    await node.clock.advance(5_000);
    const pods = await bodyText(await node.request(httpRequest('GET /pods')));
    expect(pods).toContain('"name":"web-n"');
    expect(await bodyText(await node.request(httpRequest('GET /runningpods/')))).toContain('"name":"web-n"');
    expect(await bodyText(await node.request(httpRequest('GET /healthz?verbose')))).toBe(
      '[+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]pleg ok\n[+]runtime ok\n[+]device-plugin ok\nhealthz check passed\n',
    );
    expect(await bodyText(await node.request(httpRequest('GET /metrics')))).toContain(
      'kubelet_http_requests_total{long_running="false",method="GET",path="pods",server_type="readwrite"} 1\n',
    );
  });

  test.each([
    '/pods/',
    '/containerLogs/default/web/c',
    '/runningpods/',
    '/logs/',
    '/logs/?query=kubelet',
    '/debug/pprof/profile?seconds=1',
  ])('answers POST %s with 405 and the allowed method', async (path) => {
    await node.start();
    const answer = await node.request(httpRequest(`POST ${path}`));
    if (!('headers' in answer)) throw new Error('no response');
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET']);
  });

  test('rejects webhook authentication at the start', async () => {
    const alone = new FakeNode(webhook === undefined ? {} : { config: webhook });
    await expect(alone.start()).rejects.toThrow('no client provided, cannot use webhook authentication');
  });
});

describe('a node in a cluster', () => {
  let world: ClusterWorld;
  beforeEach(() => {
    world = new ClusterWorld();
  });
  afterEach(() => world.close());

  test('opens the port before it reports Ready, and serves the health of its lease', async () => {
    const order: string[] = [];
    world.node.onSecurePortOpen = () =>
      order.push(`open, ${readyOf(world.nodeObject()?.status) ?? 'not seen'}`);
    await world.node.start();
    await world.advance(10_000);
    order.push(`later, ${readyOf(world.nodeObject()?.status)}`);
    expect(order).toEqual(['open, not seen', 'later, True']);
    expect(await bodyText(await world.node.request(httpRequest('GET /healthz/lease')))).toBe('ok');
  });
});
