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
  const told: string[] = [];
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
      replace: (pods) => void told.push(`replace ${pods.length}`),
      upsert: (pod) => void told.push(`upsert ${pod.metadata?.name}`),
      remove: (pod) => void told.push(`remove ${pod.metadata?.name}`),
    },
    publish: (_source, pods) => void published.push(pods),
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { stopped } = await source.start(stop.signal);
  await clock.settle();
  const names = (): readonly string[] => (published.at(-1) ?? []).map((pod) => pod.metadata?.name ?? '');
  return { clock, end: () => (stop.abort(), stopped), names, nodeChanged, published, state, told };
}

function withStatus(pod: Pod, status: PodStatus, resourceVersion: string): Pod {
  return { ...pod, status, metadata: { ...pod.metadata, resourceVersion } };
}

test('nothing is asked for before the node is known', async () => {
  const { clock, nodeChanged, state } = await world({ synced: false });
  expect(state.sink).toBeUndefined();
  state.synced = true;
  nodeChanged.push();
  await clock.settle();
  expect(state.target).toEqual({ path: '/api/v1/pods', fieldSelector: 'spec.nodeName=node1' });
});

test('it can be stopped while it waits for the node', async () => {
  const { clock, end } = await world({ synced: false });
  await clock.until(end(), 1_000);
});

test('nothing is published before the first list, and an empty one counts', async () => {
  const { published, state } = await world();
  expect(published).toEqual([]);
  state.sink?.replace([]);
  expect(published).toEqual([[]]);
});

test('pods come and go; mirror pods are not wanted, but told', async () => {
  const { names, state, told } = await world();
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
  expect(told).toEqual(['replace 2', 'upsert c', 'remove a', 'replace 1']);
});

test('pods are marked with their source and when they were first seen', async () => {
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
  ['our own conditions', own, false],
  ['somebody else’s condition', { ...own, conditions: [gate] }, true],
  ['the end of the pod', { ...own, phase: 'Failed' }, true],
];
for (const [name, status, isNews] of changes)
  test(`a status that comes back: ${name} ${isNews ? 'is news' : 'is no news'}`, async () => {
    const { published, state, told } = await world();
    state.sink?.replace([aPod()]);
    state.sink?.upsert(withStatus(aPod(), status, '7'));
    expect(published).toHaveLength(isNews ? 2 : 1);
    expect(told.at(-1)).toBe('upsert p');
  });

test('a deletion that was asked for is news', async () => {
  const { published, state } = await world();
  const pod = aPod();
  state.sink?.replace([pod]);
  state.sink?.upsert({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:30Z' } });
  expect(published.at(-1)?.[0]?.metadata?.deletionTimestamp).toBe('2026-01-01T00:00:30Z');
});
