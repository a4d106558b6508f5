import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { FakeNodeApi, unreachable } from './fixtures/node-world.ts';
import { NodeLease } from './node-lease.ts';

async function world({ api = new FakeNodeApi(), withNode = true } = {}) {
  const clock = new FakeClock(Date.parse('2026-11-15T20:46:49.858Z'));
  const state = { failures: 0 };
  if (withNode && api.node === undefined) await api.create({ metadata: { name: 'node1' } });
  const own = { get: () => api.node, changed: new Channel<void>() };
  const lease = new NodeLease({
    api: api.leases,
    nodeName: 'node1',
    own,
    durationSeconds: 40,
    random: () => 0,
    repeatedFailure: () => {
      state.failures++;
    },
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { stopped } = await startComponent(lease, stop.signal);
  await clock.settle();
  const updates = (): number => api.calls.filter((call) => call === 'update lease').length;
  return { api, clock, lease, own, state, updates, end: () => (stop.abort(), stopped) };
}

test('creates the recorded lease', async () => {
  const { api } = await world();
  expect(api.lease).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: 'node1',
      namespace: 'kube-node-lease',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'node-uid' }],
      resourceVersion: '2',
    },
    spec: { holderIdentity: 'node1', leaseDurationSeconds: 40, renewTime: '2026-11-15T20:46:49.858000Z' },
  });
});

test('renews the lease every ten seconds without getting it', async () => {
  const { api, clock, updates } = await world();
  await clock.advance(60_000);
  expect(updates()).toBe(6);
  expect(api.calls.filter((call) => call === 'get lease')).toHaveLength(1);
  expect(api.lease?.spec?.renewTime).toBe('2026-11-15T20:47:49.858000Z');
});

test('creates the lease as soon as its node exists', async () => {
  const { api, clock, own } = await world({ withNode: false });
  await clock.advance(3_000);
  expect(api.lease).toBeUndefined();
  await api.create({ metadata: { name: 'node1' } });
  own.changed.push();
  await clock.settle();
  expect(api.lease).toBeDefined();
});

test('renews on top of a concurrent renewal', async () => {
  const { api, clock, updates } = await world();
  await api.leases.update({ ...api.lease, spec: { ...api.lease?.spec, holderIdentity: 'other' } });
  const before = updates();
  await clock.advance(10_000);
  expect(updates() - before).toBe(2);
  expect(api.lease?.spec?.renewTime).toBe('2026-11-15T20:46:59.858000Z');
});

test('recovers with backoff from an unreachable API server and from a deleted lease', async () => {
  const { api, clock, state, updates } = await world();
  api.fault = unreachable;
  const callsBefore = api.calls.length;
  await clock.advance(120_000);
  expect(state.failures).toBeGreaterThan(0);
  expect(api.calls.length - callsBefore).toBeLessThan(40);
  api.fault = undefined;
  api.lease = undefined;
  await clock.advance(7_000);
  expect(api.lease).toBeDefined();
  const before = updates();
  await clock.advance(30_000);
  expect(updates() - before).toBeGreaterThanOrEqual(2);
});

test('stops during a failing renewal', async () => {
  const { api, clock, end } = await world();
  api.fault = unreachable;
  await clock.advance(10_000);
  await clock.until(end(), 1_000);
  expect(clock.pendingTimers()).toBe(0);
});

test('reports healthy while the lease is renewed, and the last error once it has expired', async () => {
  const { api, clock, lease } = await world();
  await clock.advance(60_000);
  expect(lease.health()).toBeUndefined();
  api.fault = unreachable;
  await clock.advance(40_000);
  expect(lease.health()).toBeUndefined();
  await clock.advance(20_000);
  expect(lease.health()).toMatch(/^the node's lease has not been renewed for \d+ s: .+/);
  api.fault = undefined;
  await clock.advance(20_000);
  expect(lease.health()).toBeUndefined();
});
