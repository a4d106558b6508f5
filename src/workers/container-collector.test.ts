import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { silentLogger } from '../base/log/log.ts';
import { ContainerCollector } from './container-collector.ts';

const evicted = asPodUid('evicted');

function setUp(collect: (pods: Set<PodUid>, call: number) => Promise<void>) {
  const clock = new FakeClock();
  const pods = new Set([evicted, asPodUid('other')]);
  const requests: (readonly PodUid[])[] = [];
  const collector = new ContainerCollector({
    workers: {
      collectGarbage: (_cause, only) => {
        requests.push([...(only ?? [])]);
        return new Map([[evicted, collect(pods, requests.length)]]);
      },
    },
    observed: { get: (uid) => (pods.has(uid) ? {} : undefined) },
    links: { removeDeadLinks: async () => undefined },
    pleg: { health: () => ({ failure: undefined }) },
    events: { node: () => undefined },
    clock,
    log: silentLogger,
  });
  return { clock, collector, requests };
}

test('the containers of an evicted pod are collected again until none is left, and no other pod', async () => {
  const { clock, collector, requests } = setUp(async (pods, call) => {
    // By then the API server has the exits.
    if (call === 3) pods.delete(evicted);
  });
  const done = collector.deleteEvicted(new Set([evicted]), new AbortController().signal);
  await clock.advance(200);
  await done;
  expect(requests).toEqual([[evicted], [evicted], [evicted]]);
});

test('a failed removal is repeated, and an abort ends it', async () => {
  const { clock, collector, requests } = setUp(async () => {
    throw new Error('the runtime refused');
  });
  const stop = new AbortController();
  const done = collector.deleteEvicted(new Set([evicted]), stop.signal).catch((err: unknown) => err);
  await clock.advance(150);
  stop.abort(new Error('too late'));
  expect(await done).toBeInstanceOf(Error);
  expect(requests).toHaveLength(2);
});
