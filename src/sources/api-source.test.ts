import { expect, onTestFinished, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { WatchSink } from '../api/ports/api-client.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import { silentLogger } from '../base/log/log.ts';
import { ApiSource } from './api-source.ts';

async function world({ synced = true } = {}) {
  const clock = new FakeClock();
  const published: (readonly Pod[])[] = [];
  const forwarded: string[] = [];
  const kept: (readonly Pod[])[] = [];
  const nodeChanged = new Channel<void>();
  const state = { synced, sink: undefined as WatchSink<Pod> | undefined, target: {} };
  const source = new ApiSource({
    follow: async (target, sink, signal) => {
      state.target = target;
      state.sink = sink as unknown as WatchSink<Pod>;
      await untilAborted(signal);
    },
    nodeName: 'node1',
    ownNode: { hasSynced: () => state.synced, changed: nodeChanged },
    objects: {
      replace: (pods) => void forwarded.push(`replace ${pods.length}`),
      upsert: (pod) => void forwarded.push(`upsert ${pod.metadata?.name}`),
      remove: (pod) => void forwarded.push(`remove ${pod.metadata?.name}`),
    },
    publishKept: (_source, pods) => void kept.push(pods),
    publish: (_source, pods) => void published.push(pods),
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { stopped } = await source.start(stop.signal);
  await clock.settle();
  const names = (): readonly string[] => (published.at(-1) ?? []).map((pod) => pod.metadata?.name ?? '');
  return { clock, end: () => (stop.abort(), stopped), kept, names, nodeChanged, published, state, forwarded };
}

function withStatus(pod: Pod, status: PodStatus, resourceVersion: string): Pod {
  return { ...pod, status, metadata: { ...pod.metadata, resourceVersion } };
}

test('does not list before the node has synced', async () => {
  const { clock, nodeChanged, state } = await world({ synced: false });
  expect(state.sink).toBeUndefined();
  state.synced = true;
  nodeChanged.push();
  await clock.settle();
  expect(state.target).toEqual({ path: '/api/v1/pods', fieldSelector: 'spec.nodeName=node1' });
});

test('stops while it waits for the node', async () => {
  const { clock, end } = await world({ synced: false });
  await clock.until(end(), 1_000);
});

test('publishes nothing before the first list, and an empty list afterwards', async () => {
  const { published, state } = await world();
  expect(published).toEqual([]);
  state.sink?.replace([]);
  expect(published).toEqual([[]]);
});

test('publishes added and removed pods, and forwards mirror pods without publishing them', async () => {
  const { names, state, forwarded } = await world();
  state.sink?.replace([
    aPod({ name: 'a' }),
    aPod({ name: 'b', annotations: { 'kubernetes.io/config.mirror': 'h' } }),
  ]);
  expect(names()).toEqual(['a']);
  state.sink?.upsert(aPod({ name: 'c' }));
  expect(names()).toEqual(['a', 'c']);
  state.sink?.remove(aPod({ name: 'a' }));
  expect(names()).toEqual(['c']);
  state.sink?.replace([aPod({ name: 'd' })]);
  expect(names()).toEqual(['d']);
  expect(forwarded).toEqual(['replace 2', 'upsert c', 'remove a', 'replace 1']);
});

test('annotates pods with their source and first-seen time', async () => {
  const { clock, published, state } = await world();
  state.sink?.replace([aPod({ name: 'a' })]);
  await clock.advance(5_000);
  state.sink?.upsert(aPod({ name: 'a', labels: { new: 'label' } }));
  const marks = published.map(([pod]) => pod?.metadata?.annotations);
  expect(marks[0]).toEqual({
    'kubernetes.io/config.source': 'api',
    'kubernetes.io/config.seen': '2026-01-01T00:00:00.000Z',
  });
  expect(marks[1]).toEqual(marks[0]);
});

const own: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const gate = { type: 'example.com/gate', status: 'True' };
const changes: readonly (readonly [string, PodStatus, boolean])[] = [
  ['the conditions of the kubelet', own, false],
  ['a condition of another controller', { ...own, conditions: [gate] }, true],
  ['a terminal phase', { ...own, phase: 'Failed' }, true],
];
for (const [name, status, isNews] of changes)
  test(`${isNews ? 'publishes' : 'does not publish'} a status update with ${name}`, async () => {
    const { published, state, forwarded } = await world();
    state.sink?.replace([aPod()]);
    state.sink?.upsert(withStatus(aPod(), status, '7'));
    expect(published).toHaveLength(isNews ? 2 : 1);
    expect(forwarded.at(-1)).toBe('upsert p');
  });

test('publishes a requested deletion', async () => {
  const { published, state } = await world();
  const pod = aPod();
  state.sink?.replace([pod]);
  state.sink?.upsert({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:30Z' } });
  expect(published.at(-1)?.[0]?.metadata?.deletionTimestamp).toBe('2026-01-01T00:00:30Z');
});

test('publishes kept pods as kept, and the first list finds an unchanged one unchanged', async () => {
  const { forwarded, kept, names, published, state } = await world();
  const pod = withStatus(aPod({ name: 'a', uid: 'a' }), { phase: 'Running' }, '98');
  state.sink?.provisional?.([pod, aPod({ name: 'b', uid: 'b' })]);
  expect(kept.map((pods) => pods.map(({ metadata }) => metadata?.name))).toEqual([['a', 'b']]);
  expect([published, forwarded]).toEqual([[], []]);
  state.sink?.replace([withStatus(pod, { phase: 'Pending' }, '99')]);
  expect(names()).toEqual(['a']);
  expect(published.at(-1)?.[0]).toBe(kept[0]?.[0]);
  expect(forwarded).toEqual(['replace 1']);
});
