// The hub with sources made by the test: what each viewer gets, and what runs without viewers.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { EventStreamClient } from '../../../test/clients/event-stream-client.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { noPageRecords } from '../../../test/fakes/no-page-records.ts';
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { type PodUid, podUid } from '../../api/pod/pod-ref.ts';
import type { HttpAnswer } from '../../api/ports/http.ts';
import { Channel } from '../../base/channel.ts';
import { startComponent } from '../../base/component.ts';
import { silentLogger } from '../../base/log/log.ts';
import { Metrics } from '../../base/metrics.ts';
import { Feed } from './feed.ts';
import { FeedMetrics } from './feed-metrics.ts';
import { HealthViews } from './health-views.ts';
import { NodeViews } from './node-views.ts';

const noSignals = {
  memory: undefined,
  kernelAvailableBytes: undefined,
  podMemory: undefined,
  nodeFs: undefined,
  imageFs: undefined,
  containerFs: undefined,
  processes: undefined,
};

class CountedChannel<T> extends Channel<T> {
  subscribers = 0;
  override subscribe(listener: (value: T) => void): () => void {
    this.subscribers++;
    const end = super.subscribe(listener);
    return () => {
      this.subscribers--;
      end();
    };
  }
}

describe('the stream', () => {
  let clock: FakeClock;
  let registry: Metrics;
  let feed: Feed;
  let desired: Map<PodUid, Pod>;
  let statuses: Map<PodUid, PodStatus>;
  let changed: CountedChannel<PodUid>;
  let reads: number;
  let measurements: number;
  let hangs: boolean;
  let problem: string | undefined;
  let fails: boolean;
  let stop: AbortController;
  let clients: EventStreamClient[];

  beforeEach(async () => {
    clock = new FakeClock();
    registry = new Metrics();
    desired = new Map();
    statuses = new Map();
    changed = new CountedChannel();
    reads = 0;
    measurements = 0;
    hangs = false;
    problem = undefined;
    fails = false;
    clients = [];
    stop = new AbortController();
    const checks = [{ name: 'pleg', check: () => problem }];
    feed = new Feed({
      identity: { instance: 'i1', nodeName: 'n', version: 'v1', startedAtMs: 5 },
      sources: {
        pods: {
          desired: {
            get: (uid) => {
              const pod = desired.get(uid);
              return pod && { pod };
            },
            all: () => [...desired].map(([uid, pod]) => ({ uid, pod })),
          },
          lifecycles: { get: () => undefined, all: () => new Map() },
          statuses,
          observed: { get: () => undefined },
          explainer: { sentence: () => ({ text: 'as specified', isActive: false }) },
        },
        changes: [changed],
        usage: {
          pods: () => new Map([...desired.keys()].map((uid) => [uid, `/${uid}`])),
          load: () => {
            reads++;
            if (fails) throw new Error('unreadable');
            return { cpuNs: clock.monotonic() * 1e5, workingSetBytes: 7 };
          },
        },
        node: new NodeViews({
          checks,
          own: { get: () => undefined },
          capacity: {
            cpuMillis: () => 2_000,
            allocatableCpuMillis: () => 2_000,
            memoryBytes: 9,
            maxPods: () => 110,
          },
          load: {
            memory: () => noSignals,
            signals: () => {
              measurements++;
              return hangs ? new Promise(() => undefined) : Promise.resolve(noSignals);
            },
          },
          eviction: { marks: () => ({ availableMemoryBytes: undefined, thresholds: [] }) },
          pressure: { conditions: () => [] },
          runtime: {
            health: () => ({ everAnswered: true, failure: undefined }),
            version: async () => ({ runtimeName: 'r', runtimeVersion: '1' }),
          },
          state: { certificates: () => ({}), configuration: undefined },
          clock,
        }),
        detail: {
          mounts: { ofPod: () => [], changed: new Channel<PodUid>() },
          volumes: { activities: () => [] },
          events: { recent: () => [] },
          history: undefined,
          starts: noPageRecords.starts,
          probes: noPageRecords.probes,
        },
        health: new HealthViews({
          checks,
          records: noPageRecords.load,
          process: { load: () => ({ cpuSeconds: 1, residentBytes: 1, heapUsedBytes: 1, openFiles: 1 }) },
          loopDelay: { watch: () => undefined, longestSinceMs: () => [] },
          clock,
        }),
      },
      metrics: new FeedMetrics(registry),
      clock,
      random: () => 0.5,
      pause: async () => undefined,
      log: silentLogger,
    });
    await startComponent(feed, stop.signal);
  });
  afterEach(async () => {
    for (const client of clients) await client.disconnect();
    stop.abort();
    await clock.advance(1_000);
    expect(clock.pendingTimers()).toBe(0);
  });

  const open = (query = ''): HttpAnswer => feed.stream({ query: new URLSearchParams(query) });

  async function connect(query = ''): Promise<EventStreamClient> {
    const client = new EventStreamClient(open(query)).read();
    clients.push(client);
    await clock.advance(0);
    return client;
  }

  function put(name: string, phase = 'Running'): PodUid {
    const pod = aPod({ name });
    const uid = podUid(pod);
    desired.set(uid, pod);
    statuses.set(uid, { phase });
    changed.push(uid);
    return uid;
  }

  const gauge = (): string => /^kubelet_dashboard_viewers (\d+)$/m.exec(registry.render())?.[1] ?? '';
  const dropped = (): string =>
    /^kubelet_dashboard_dropped_viewers_total (\d+)$/m.exec(registry.render())?.[1] ?? '';

  describe('without viewers', () => {
    test('nothing is sampled, measured, subscribed to or timed', async () => {
      put('p');
      await clock.advance(60_000);
      expect([clock.pendingTimers(), changed.subscribers, reads, measurements]).toEqual([0, 0, 0, 0]);
    });

    test('everything stops 5 s after the last viewer, and its samples are gone', async () => {
      const [first, second] = [await connect('pod=uid-p&health=1'), await connect()];
      await clock.advance(5_000);
      expect([changed.subscribers, gauge()]).toEqual([1, '2']);
      await first.disconnect();
      expect(clock.pendingTimers()).toBeGreaterThan(0);
      await second.disconnect();
      await clock.advance(5_000);
      const before = reads;
      expect([clock.pendingTimers(), changed.subscribers, gauge()]).toEqual([0, 0, '0']);
      await clock.advance(10_000);
      expect(reads).toBe(before);
      expect((await connect()).latest('samples').length).toBe(1);
    });
  });

  describe('what viewers get', () => {
    test('one sampling per second serves all viewers, with the same bytes', async () => {
      put('p');
      const both = [new EventStreamClient(open()), new EventStreamClient(open())];
      clients.push(...both);
      await clock.advance(0);
      const chunks = await Promise.all(
        both.map(async (client) => {
          const taken = [];
          for (let index = 0; index < 5; index++) taken.push(await client.readOne());
          return taken;
        }),
      );
      const begun = reads;
      await clock.advance(4_000);
      expect(reads - begun).toBe(8);
      expect(chunks[0]?.[2]).toBe(chunks[1]?.[2]);
      const usage = await Promise.all(both.map(async (client) => await client.readOne()));
      expect(usage[0]).toBe(usage[1]);
    });

    test('a viewer that connects later gets all samples so far, then those that follow', async () => {
      await connect();
      await clock.advance(5_500);
      const late = await connect();
      expect(late.latest('samples').length).toBe(6);
      expect(late.all('usage').length).toBe(0);
      await clock.advance(2_000);
      expect(late.all('usage').length).toBe(2);
    });

    test('the changes of a quarter of a second are one message, without the other rows', async () => {
      put('other');
      const client = await connect();
      await clock.advance(1_000);
      const before = client.all('pods').length;
      for (let index = 0; index < 100; index++) {
        put('p', index % 2 === 0 ? 'Running' : 'Pending');
        await clock.advance(10);
      }
      const changes = client.all('pods').slice(before);
      expect(changes.length).toBeLessThanOrEqual(5);
      expect(changes.every(({ all, rows }) => !all && rows.every(({ name }) => name === 'p'))).toBe(true);
    });

    test('one of 500 pods changes: only its row is sent', async () => {
      for (let index = 0; index < 500; index++) put(`p${index}`);
      const client = await connect();
      expect(client.rows.size).toBe(500);
      put('p7', 'Pending');
      await clock.advance(1_000);
      expect(client.all('pods').length).toBe(2);
      expect(client.latest('pods').rows.map(({ name, status }) => [name, status])).toEqual([
        ['p7', 'Pending'],
      ]);
    });

    test('a removed pod is announced by its UID', async () => {
      const uid = put('p');
      const client = await connect();
      desired.delete(uid);
      changed.push(uid);
      await clock.advance(500);
      expect(client.latest('pods')).toEqual({ all: false, rows: [], gone: [uid] });
    });

    test('a pod that changes without effect on its row is not sent', async () => {
      put('p');
      const client = await connect();
      const before = client.all('pods').length;
      put('p');
      await clock.advance(2_000);
      expect(client.all('pods').length).toBe(before);
    });

    test('the node is sent when it changes', async () => {
      const client = await connect();
      await clock.advance(5_000);
      const before = client.all('node').length;
      await clock.advance(5_000);
      expect(client.all('node').length).toBe(before);
      problem = 'late';
      await clock.advance(1_000);
      expect(client.latest('node').ready).toEqual({ ok: false, why: 'pleg: late' });
    });

    test('only viewers that requested them get a pod or the health', async () => {
      put('p');
      const plain = await connect();
      const all = await connect('pod=uid-p&health=1');
      await clock.advance(3_000);
      expect(plain.names()).not.toContain('pod');
      expect(plain.names()).not.toContain('health');
      expect(all.latest('pod')?.row.name).toBe('p');
      expect(all.all('health').length).toBe(4);
    });

    test('hello has the instance and what the viewer may do', async () => {
      const answer = feed.stream({ query: new URLSearchParams() }, { logs: true, exec: true });
      const client = new EventStreamClient(answer).read();
      clients.push(client);
      await clock.advance(0);
      expect(client.latest('hello')).toEqual({
        instance: 'i1',
        nodeName: 'n',
        version: 'v1',
        startedAtMs: 5,
        nowMs: clock.now(),
        samplePeriodMs: 1_000,
        may: { logs: true, exec: true },
      });
    });

    test('a comment every 15 s keeps the connection open', async () => {
      const client = await connect();
      await clock.advance(61_000);
      expect(client.comments).toBe(4);
    });

    test('a file system that hangs delays nothing, and is measured once', async () => {
      hangs = true;
      const client = await connect();
      await clock.advance(60_000);
      expect(measurements).toBe(1);
      expect(client.all('usage').length).toBe(61);
    });

    test('file systems are measured every 10 s', async () => {
      await connect();
      await clock.advance(60_500);
      expect(measurements).toBe(7);
    });
  });

  describe('limits', () => {
    test('a viewer that stops reading costs its latest messages, and is dropped after 30 s', async () => {
      put('p');
      const client = await connect();
      const other = await connect();
      client.stopReading();
      await clock.advance(20_000);
      expect(gauge()).toBe('2');
      await clock.advance(15_000);
      expect([gauge(), dropped()]).toEqual(['1', '1']);
      expect(other.all('usage').length).toBeGreaterThan(30);
    });

    test('a viewer that reads again has skipped samples, and has the level of everything else', async () => {
      const client = await connect();
      client.stopReading();
      await clock.advance(5_000);
      const before = client.all('usage').length;
      for (let index = 0; index < 20; index++) {
        put(`p${index}`);
        await clock.advance(500);
      }
      client.read();
      await clock.advance(0);
      expect(client.all('usage').length - before).toBe(1);
      expect(client.latest('pods').all).toBe(true);
      expect(client.rows.size).toBe(20);
    });

    test('the 65th viewer is refused, until another one leaves', async () => {
      for (let index = 0; index < 64; index++) await connect();
      expect(open()).toMatchObject({
        status: 503,
        headers: { 'retry-after': '10' },
        body: expect.stringContaining('64 viewers are connected'),
      });
      await clients[0]?.disconnect();
      expect(open()).toMatchObject({ status: 200 });
    });

    test.each(['pod=', `pod=${'x'.repeat(300)}`])('the query %s is refused', (query) => {
      expect(open(query)).toMatchObject({ status: 400 });
      expect(gauge()).toBe('0');
    });

    test('the port disconnects a client that leaves the stream unread for 30 s', () => {
      const answer = open();
      clients.push(new EventStreamClient(answer));
      expect(answer).toMatchObject({ stalledMs: 30_000, headers: { 'cache-control': 'no-store' } });
    });
  });

  describe('the end of a stream', () => {
    test('after 5 minutes, so that credentials are checked again, without losing samples', async () => {
      const client = await connect();
      await clock.advance(299_000);
      expect(client.hasEnded).toBe(false);
      await clock.advance(2_000);
      expect(client.latest('bye')).toEqual({ why: 'credentials are checked again', retryMs: 1_000 });
      expect([client.hasEnded, gauge()]).toEqual([true, '0']);
      const again = await connect();
      expect(again.latest('samples').length).toBeGreaterThan(290);
    });

    test('a viewer that reconnects for another view finds its samples', async () => {
      const client = await connect();
      await clock.advance(10_000);
      await client.disconnect();
      const samples = (await connect('health=1')).latest('samples');
      expect(samples.length).toBeGreaterThan(9);
    });

    test('the samples are gone if that viewer does not return', async () => {
      await connect();
      await clock.advance(310_000);
      expect([clock.pendingTimers(), changed.subscribers]).toEqual([0, 0]);
    });

    test('a stopping kubelet ends every stream and accepts no other', async () => {
      const client = await connect('pod=uid-p');
      stop.abort();
      await clock.advance(0);
      expect([client.latest('bye').why, client.hasEnded]).toEqual(['the kubelet is stopping', true]);
      expect([clock.pendingTimers(), changed.subscribers]).toEqual([0, 0]);
      expect(open()).toMatchObject({ status: 503 });
    });

    test('a viewer that does not read does not keep the kubelet from stopping', async () => {
      const other = new AbortController();
      const { stopped } = await startComponent(feed, other.signal);
      clients.push(new EventStreamClient(open()));
      other.abort();
      await clock.until(stopped, 1_000);
    });
  });

  test('after a source has failed, the next second is sampled again', async () => {
    const client = await connect();
    fails = true;
    await clock.advance(3_000);
    expect(client.all('usage').length).toBe(1);
    fails = false;
    await clock.advance(3_000);
    expect(client.all('usage').length).toBe(4);
  });
});
