import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Event } from '../api/k8s/types.ts';
import { KubeletError } from '../base/errors.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { EventRecorder } from './event-recorder.ts';
import type { EventPatch, EventPost } from './event-sender.ts';

const unavailable = new KubeletError('unavailable', 'Unavailable', 'connection refused');

/** An event API in memory that fails or stalls on demand. */
class FakePost implements EventPost {
  readonly calls: string[] = [];
  readonly events = new Map<string, Event>();
  readonly creations: number[] = [];
  fail: Error | undefined;
  stall = false;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  async create(event: Event, signal: AbortSignal): Promise<void> {
    await this.#answer(`create ${event.message}`, signal);
    this.events.set(event.metadata.name ?? '', event);
    this.creations.push(this.#clock.monotonic());
  }

  async patch(name: string, namespace: string, patch: EventPatch, signal: AbortSignal): Promise<void> {
    await this.#answer(`patch ${namespace} ${patch.message} ${patch.count}`, signal);
    const event = this.events.get(name);
    if (event === undefined) throw new KubeletError('not-found', 'NotFound', `event ${name} not found`);
    this.events.set(name, { ...event, ...patch });
  }

  async #answer(call: string, signal: AbortSignal): Promise<void> {
    this.calls.push(call);
    if (this.stall)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (this.fail !== undefined) throw this.fail;
  }

  sent(): readonly (readonly [string | undefined, number | undefined])[] {
    return [...this.events.values()].map(({ message, count }) => [message, count]);
  }
}

function setUp(options: { alone?: boolean; qps?: number; burst?: number } = {}) {
  const clock = new FakeClock();
  const post = new FakePost(clock);
  const log: string[] = [];
  const node: { uid: string | undefined } = { uid: undefined };
  const recorder = new EventRecorder({
    post: options.alone ? undefined : post,
    nodeName: 'n',
    nodeUid: () => node.uid,
    rate: { qps: options.qps ?? 50, burst: options.burst ?? 100 },
    clock,
    log: textLogger({
      write: (line) => void log.push(line),
      clock,
      verbosity: new Verbosity(2),
      pid: 1,
    }),
    random: () => 0.5,
  });
  const stop = new AbortController();
  const start = async () => (await recorder.start(stop.signal)).stopped;
  const say = (message: string, pod = 'p'): void =>
    recorder.pod(aPod({ name: pod }), { type: 'Normal', reason: 'R', message });
  return { clock, post, log, node, recorder, stop, start, say };
}

async function running(options: Parameters<typeof setUp>[0] = {}) {
  const all = setUp(options);
  const { stopped } = await all.recorder.start(all.stop.signal);
  return { ...all, stopped };
}

describe('EventRecorder', () => {
  test('creates an event and patches its count when it repeats', async () => {
    const { clock, post, say } = await running();
    say('a');
    await clock.settle();
    say('a');
    say('b');
    await clock.settle();
    expect(post.calls).toEqual(['create a', 'patch default a 2', 'create b']);
    expect(post.sent()).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  test('gives events of the same millisecond different names', async () => {
    const { clock, post, say } = await running();
    say('a');
    say('b');
    await clock.settle();
    expect(post.events.size).toBe(2);
  });

  test('sends an event that repeats while queued once, with its count', async () => {
    const { clock, post, say } = await running({ qps: 1, burst: 1 });
    say('first');
    for (let i = 0; i < 5; i++) say('a');
    await clock.advance(5_000);
    expect(post.calls).toEqual(['create first', 'create a']);
    expect(post.sent()).toEqual([
      ['first', 1],
      ['a', 5],
    ]);
  });

  test('keeps within the rate limit', async () => {
    const { clock, post, say } = await running({ qps: 2, burst: 3 });
    for (let i = 0; i < 6; i++) say(`m${i}`);
    await clock.advance(10_000);
    expect(post.creations).toEqual([0, 0, 0, 500, 1000, 1500]);
  });

  test('creates an event again, with its count, if the API server has deleted it', async () => {
    const { clock, post, say } = await running();
    say('a');
    await clock.settle();
    post.events.clear();
    say('a');
    await clock.settle();
    expect(post.calls).toEqual(['create a', 'patch default a 2', 'create a']);
    expect(post.sent()).toEqual([['a', 2]]);
  });

  test('queues events in order while the API server is unreachable', async () => {
    const { clock, post, log, say } = await running();
    post.fail = unavailable;
    say('a');
    say('b');
    await clock.advance(60_000);
    // Immediately, after half of the first delay, then every ten seconds.
    expect(post.calls).toEqual(Array.from({ length: 7 }, () => 'create a'));
    post.fail = undefined;
    await clock.advance(10_000);
    expect(post.sent()).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect(log.filter((line) => line.includes('Unable to write'))).toHaveLength(1);
  });

  test('drops an event after twelve attempts and continues with the next', async () => {
    const { clock, post, log, say } = await running();
    post.fail = unavailable;
    say('a');
    say('b');
    await clock.advance(105_000);
    expect(post.calls.filter((call) => call === 'create a')).toHaveLength(12);
    post.fail = undefined;
    await clock.advance(10_000);
    expect(post.sent()).toEqual([['b', 1]]);
    expect(log.some((line) => line.includes('retry limit exceeded'))).toBe(true);
  });

  test('times out and retries a call that hangs', async () => {
    const { clock, post, say } = await running();
    post.stall = true;
    say('a');
    await clock.advance(9_999);
    expect(post.calls).toHaveLength(1);
    post.stall = false;
    await clock.advance(10_000);
    expect(post.sent()).toEqual([['a', 1]]);
  });

  const rejections = [
    ['invalid', 1],
    ['forbidden', 1],
    ['internal', 1],
    ['conflict', 0],
  ] as const;
  test.each(rejections)('does not retry a rejected event (%s)', async (kind, lines) => {
    const { clock, post, log, say } = await running();
    post.fail = new KubeletError(kind, 'R', 'no');
    say('a');
    await clock.settle();
    post.fail = undefined;
    say('b');
    await clock.advance(60_000);
    expect(post.calls).toEqual(['create a', 'create b']);
    expect(log.filter((line) => line.includes('rejected'))).toHaveLength(lines);
  });

  test('queues at most a thousand events without blocking, and logs how many were dropped', async () => {
    const { clock, post, log, say } = await running({ qps: 0 });
    post.fail = unavailable;
    for (let i = 0; i < 1_100; i++) say('m', `pod-${i}`);
    expect(log.filter((line) => line.includes('Dropped event, too many'))).toHaveLength(1);
    await clock.settle();
    post.fail = undefined;
    await clock.advance(60_000);
    expect(post.events.size).toBe(1_000);
    expect(log.some((line) => line.includes('Dropped events') && line.includes('count=100'))).toBe(true);
  });

  test('sends the queued events when it stops', async () => {
    const { clock, post, stop, stopped, say } = await running({ qps: 100, burst: 1 });
    for (let i = 0; i < 5; i++) say(`m${i}`);
    stop.abort();
    await clock.until(stopped);
    expect(post.events.size).toBe(5);
    expect(clock.pendingTimers()).toBe(0);
  });

  const stops: readonly (readonly [string, (post: FakePost) => void])[] = [
    ['is unreachable', (post) => void (post.fail = unavailable)],
    ['hangs', (post) => void (post.stall = true)],
  ];
  test.each(stops)('stops within the drain time if the API server %s', async (_, hurt) => {
    const { clock, post, stop, stopped, say } = await running();
    hurt(post);
    say('a');
    say('b');
    await clock.advance(1_000);
    const atMs = clock.monotonic();
    stop.abort();
    await clock.until(stopped);
    expect(clock.monotonic() - atMs).toBeLessThanOrEqual(2_000);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('sends events recorded before its start', async () => {
    const { clock, post, say, start } = setUp();
    say('early');
    void start();
    await clock.settle();
    expect(post.sent()).toEqual([['early', 1]]);
  });
});

test('events of the node carry its UID once it is known', async () => {
  const { clock, node, post, recorder } = await running();
  recorder.node({ type: 'Normal', reason: 'Starting', message: 'early' });
  node.uid = 'uid-n';
  recorder.node({ type: 'Normal', reason: 'NodeReady', message: 'late' });
  await clock.settle();
  expect([...post.events.values()].map(({ involvedObject }) => involvedObject)).toEqual([
    { kind: 'Node', apiVersion: 'v1', name: 'n', uid: 'n' },
    { kind: 'Node', apiVersion: 'v1', name: 'n', uid: 'uid-n' },
  ]);
  expect(recorder.recent('n').map(({ message }) => message)).toEqual(['early', 'late']);
});

test('events of another object refer to it and are kept under its UID', async () => {
  const { clock, post, recorder } = await running();
  const claim = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    namespace: 'ns',
    name: 'data',
    uid: 'uid-c',
  } as const;
  recorder.object(claim, { type: 'Normal', reason: 'FileSystemResizeSuccessful', message: 'm' });
  await clock.settle();
  expect([...post.events.values()]).toMatchObject([{ involvedObject: claim, metadata: { namespace: 'ns' } }]);
  expect(recorder.recent('uid-c').map(({ reason }) => reason)).toEqual(['FileSystemResizeSuccessful']);
});

describe('EventRecorder.recent', () => {
  test('keeps and logs events without an API server', () => {
    const { log, recorder } = setUp({ alone: true });
    const event = { type: 'Warning', reason: 'BackOff', message: 'm' } as const;
    recorder.pod(aPod(), event, 'spec.containers{c}');
    recorder.pod(aPod(), event, 'spec.containers{c}');
    recorder.node({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    expect(recorder.recent('uid-p')).toEqual([
      {
        type: 'Warning',
        reason: 'BackOff',
        message: 'm',
        fieldPath: 'spec.containers{c}',
        count: 2,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
      },
    ]);
    expect(recorder.recent('n').map(({ reason }) => reason)).toEqual(['Starting']);
    expect(log.filter((line) => line.includes('Event occurred'))).toHaveLength(3);
  });

  test('orders events by their last occurrence and keeps the newest forty of a pod', () => {
    const { recorder, say } = setUp({ alone: true });
    const reasons = Array.from({ length: 45 }, (_, i) => `R${i}`);
    for (const reason of reasons) recorder.pod(aPod(), { type: 'Normal', reason, message: 'm' });
    recorder.pod(aPod(), { type: 'Normal', reason: 'R10', message: 'm' });
    const kept = recorder.recent('uid-p').map(({ reason }) => reason);
    expect(kept).toHaveLength(40);
    expect([kept.at(0), kept.at(-2), kept.at(-1)]).toEqual(['R5', 'R44', 'R10']);
    say('of another', 'q');
    expect(recorder.recent('uid-q')).toHaveLength(1);
    expect(recorder.recent('uid-unknown')).toEqual([]);
  });

  test('evicts the events of the pods that had none for the longest time', () => {
    const { say, recorder } = setUp({ alone: true });
    for (let i = 0; i < 600; i++) say('m', `pod-${i}`);
    expect(recorder.recent('uid-pod-0')).toEqual([]);
    expect(recorder.recent('uid-pod-599')).toHaveLength(1);
  });

  test('counts events that are filtered as spam', () => {
    const { recorder, say } = setUp();
    for (let i = 0; i < 100; i++) say('m');
    expect(recorder.recent('uid-p').map(({ count }) => count)).toEqual([100]);
  });
});
