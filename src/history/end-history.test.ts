import { expect, onTestFinished, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  exited,
} from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { memoryHistory } from '../../test/fakes/memory-history.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asContainerId, asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { EndHistory } from './end-history.ts';
import type { EndRecord } from './end-record.ts';
import { RecordedIds } from './recorded-ids.ts';
import { HistorySegments } from './segments.ts';
import type { PastEvent } from './timeline.ts';

const uid = asPodUid('uid-p');
const logLine = (text: string): string => `2026-11-15T12:00:00Z stdout F ${text}\n`;

/** A history over stores in memory. `files` outlive it. */
class World {
  readonly clock = new FakeClock(4_000);
  readonly pods = new Map<PodUid, Pod>();
  readonly seen = new Map<PodUid, ObservedPod>();
  readonly lifecycles = new Map<PodUid, PodLifecycle>();
  readonly observedChanged = new Channel<PodUid>();
  readonly lifecyclesChanged = new Channel<PodUid>();
  readonly dropped: string[] = [];
  readonly warnings: string[] = [];
  events: readonly PastEvent[] = [];
  log: string | undefined = logLine('final output');
  reads = 0;
  isFull = false;
  readonly #files: Map<string, Buffer>;
  readonly #stop = new AbortController();
  #stopped: Promise<void> | undefined;

  constructor(files = new Map<string, Buffer>()) {
    this.#files = files;
  }

  async start(logLines = 20): Promise<this> {
    const { clock } = this;
    const memory = memoryHistory(this.#files);
    const append = async (name: string, bytes: Uint8Array): Promise<void> => {
      if (this.isFull) throw new Error('ENOSPC: no space left on device');
      await memory.append(name, bytes);
    };
    const segments = new HistorySegments({ ...memory, append }, 1024 * 1024);
    const slices = { clock, pause: async () => undefined };
    const history = new EndHistory({
      stores: {
        desired: {
          get: (each) => {
            const pod = this.pods.get(each);
            return pod && { pod };
          },
        },
        observed: { get: (each) => this.seen.get(each), all: () => this.seen, changed: this.observedChanged },
        lifecycles: { get: (each) => this.lifecycles.get(each), changed: this.lifecyclesChanged },
        statuses: { get: () => undefined },
      },
      events: { recent: () => this.events },
      figures: { read: async () => ({ nodeMemoryAvailableBytes: 5 }) },
      tails: {
        readLogTail: async () => {
          this.reads += 1;
          return this.log === undefined ? undefined : { bytes: Buffer.from(this.log), whole: true };
        },
      },
      segments,
      recorded: new RecordedIds({ segments, onUnreadable: () => undefined, ...slices }),
      logLines,
      metrics: { recorded: () => undefined, dropped: (part) => void this.dropped.push(part) },
      clock,
      log: { ...silentLogger, warn: (message) => void this.warnings.push(message) },
    });
    this.#stopped = (await startComponent(history, this.#stop.signal)).stopped;
    await this.settle();
    return this;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.until(this.#stopped ?? Promise.resolve(), 5_000);
  }

  observe(...containers: readonly ObservedContainer[]): void {
    this.seen.set(uid, anObservedPod({ containers }));
    this.observedChanged.push(uid);
  }

  live(lifecycle: PodLifecycle | undefined): void {
    if (lifecycle === undefined) this.lifecycles.delete(uid);
    else this.lifecycles.set(uid, lifecycle);
    this.lifecyclesChanged.push(uid);
  }

  async settle(): Promise<void> {
    await this.clock.advance(10);
  }

  records(): readonly EndRecord[] {
    return [...this.#files.values()]
      .flatMap((bytes) => bytes.toString().split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as EndRecord);
  }
}

async function start(files?: Map<string, Buffer>, logLines?: number): Promise<World> {
  const world = new World(files);
  onTestFinished(() => world.stop());
  return await world.start(logLines);
}

const terminating = (over: object = {}): PodLifecycle => ({
  state: 'terminating',
  startedAtMs: 500,
  graceSeconds: 30,
  sinceMs: 2_500,
  why: 'the pod was deleted',
  explain: '',
  ...over,
});

test('records an ended container once, with limit, log lines and timeline', async () => {
  const world = await start();
  const resources = { limits: { memory: '64Mi' }, requests: { memory: '32Mi' } };
  world.pods.set(uid, aPod({ containers: [aContainer({ resources })] }));
  world.live({ state: 'syncing', startedAtMs: 500, waiting: {}, explain: '', explainSinceMs: 0 });
  world.events = [
    {
      reason: 'Started',
      message: 'Container started',
      fieldPath: 'spec.containers{c}',
      count: 1,
      lastTimestamp: '1970-01-01T00:00:02Z',
    },
    {
      reason: 'Started',
      message: 'other container',
      fieldPath: 'spec.containers{other}',
      count: 1,
      lastTimestamp: '1970-01-01T00:00:02Z',
    },
  ];
  world.observe(anObservedContainer());
  const oom = exited(137, { reason: 'OOMKilled', restartCount: 4, logPath: '/l' });
  world.observe(oom);
  world.observe(oom, exited(1, { id: asContainerId('c-0') }));
  world.observe(oom);
  await world.settle();
  expect(world.records().map(({ id }) => id)).toEqual(['c/c-1', 'c/c-0']);
  expect(world.records()[0]).toEqual({
    id: 'c/c-1',
    time: '1970-01-01T00:00:04.010Z',
    kind: 'oom',
    namespace: 'default',
    pod: 'p',
    uid: 'uid-p',
    container: 'c',
    containerId: 'c-1',
    cause:
      'Container c was killed by the kernel because it exceeded its memory limit of 64Mi (exit code 137, SIGKILL).',
    figures: { restartCount: 4, memoryLimit: '64Mi', memoryRequest: '32Mi', nodeMemoryAvailableBytes: 5 },
    exitCode: 137,
    signal: 'SIGKILL',
    reason: 'OOMKilled',
    message: '',
    startedAt: '1970-01-01T00:00:02.100Z',
    finishedAt: '1970-01-01T00:00:03.000Z',
    timeline: [
      { time: '1970-01-01T00:00:00.500Z', what: 'the kubelet first saw the pod' },
      { time: '1970-01-01T00:00:01.000Z', what: 'sandbox created' },
      { time: '1970-01-01T00:00:02.000Z', what: 'container created' },
      { time: '1970-01-01T00:00:02.000Z', what: 'event Started: Container started' },
      { time: '1970-01-01T00:00:02.100Z', what: 'container started' },
    ],
    lastLines: ['final output'],
  });
});

test('records a removed pod although stores and log are gone before the record is written', async () => {
  const world = await start();
  world.pods.set(uid, aPod());
  world.observe(anObservedContainer());
  world.pods.delete(uid);
  world.live(terminating());
  world.log = undefined;
  world.observe(exited(143, { logPath: '/l' }));
  world.seen.delete(uid);
  world.observedChanged.push(uid);
  world.live(undefined);
  await world.settle();
  const cause = 'Container c was stopped because the pod was deleted (exit code 143, SIGTERM).';
  expect(world.records()).toMatchObject([{ uid, pod: 'p', namespace: 'default', cause }]);
  expect(world.records()[0]).not.toHaveProperty('lastLines');
});

test('a container that ended before the termination began ended by itself', async () => {
  const world = await start();
  world.live(terminating({ sinceMs: 3_500, why: 'all containers have terminated' }));
  world.observe(exited(0));
  await world.settle();
  expect(world.records()[0]?.cause).toBe('Container c completed (exit code 0).');
});

test('an eviction is one record of the pod with its rule and figures, and one of each container', async () => {
  const world = await start();
  world.pods.set(uid, aPod());
  const evidence = { rule: 'memory.available<100Mi', figures: { available: '90Mi' } };
  const kill = { reason: 'Evicted', message: 'low on memory', evicted: true as const, evidence };
  world.live(terminating({ kill }));
  world.live(terminating({ kill: { ...kill, graceSeconds: 1 } }));
  world.observe(exited(143));
  world.live({ state: 'terminated', startedAtMs: 500, atMs: 4_000, kill, cleaned: true });
  await world.settle();
  expect(world.records()).toMatchObject([
    { kind: 'evicted', cause: 'The pod was evicted: low on memory.', ...evidence, reason: 'Evicted' },
    { kind: 'exit', container: 'c', rule: evidence.rule, figures: { available: '90Mi', restartCount: 0 } },
  ]);
});

test('a rejected pod is recorded once, also by the next kubelet', async () => {
  const files = new Map<string, Buffer>();
  for (let run = 0; run < 2; run++) {
    const world = await start(files);
    world.pods.set(uid, aPod());
    world.live({ state: 'rejected', startedAtMs: 500, reason: 'OutOfcpu', message: 'too large' });
    await world.settle();
    expect(world.records()).toMatchObject([
      { kind: 'rejected', pod: 'p', cause: 'The kubelet rejected the pod (OutOfcpu): too large.' },
    ]);
  }
});

test('a liveness failure is the cause of this instance only', async () => {
  const world = await start();
  world.events = [
    {
      reason: 'Killing',
      message: 'Container c failed liveness probe, will be restarted',
      fieldPath: 'spec.containers{c}',
      count: 1,
      lastTimestamp: '1970-01-01T00:00:02Z',
    },
  ];
  world.observe(
    exited(1, { id: asContainerId('c-2'), startedAtMs: 60_000, finishedAtMs: 61_000 }),
    exited(137),
  );
  await world.settle();
  expect(world.records().map(({ cause }) => cause)).toEqual([
    'Container c was stopped by the kubelet because it failed its liveness probe (exit code 137, SIGKILL).',
    'Container c exited with an error (exit code 1).',
  ]);
});

test('after a restart, a recorded container is skipped, and one that ended meanwhile is recorded', async () => {
  const files = new Map<string, Buffer>();
  const first = await start(files);
  first.observe(exited(1));
  await first.settle();
  const second = new World(files);
  onTestFinished(() => second.stop());
  // Inspected before the component starts.
  second.seen.set(uid, anObservedPod({ containers: [exited(2, { id: asContainerId('c-2') }), exited(1)] }));
  await second.start();
  expect(second.records().map(({ exitCode }) => exitCode)).toEqual([1, 2]);
});

test('a container that ended long before the kubelet saw it has no figures of the node', async () => {
  const world = await start();
  await world.clock.advance(120_000);
  world.observe(exited(1));
  await world.settle();
  expect(world.records()[0]?.figures).toEqual({ restartCount: 0 });
});

test('a static pod that is preempted again under its UID is recorded again', async () => {
  const world = await start();
  const kill = { reason: 'Preempting', message: 'always the same' };
  for (const startedAtMs of [1_000, 90_000]) {
    world.live(terminating({ kill, startedAtMs }));
    world.live(undefined);
    await world.settle();
  }
  expect(world.records().map(({ kind }) => kind)).toEqual(['preempted', 'preempted']);
});

test('a start that was interrupted is not an end', async () => {
  const world = await start();
  world.observe(exited(128, { reason: 'StartError', startedAtMs: 0, message: 'context canceled' }));
  await world.settle();
  expect(world.records()).toEqual([]);
});

test('a full disk drops records with one log line, and the next record is written', async () => {
  const world = await start();
  world.isFull = true;
  world.observe(exited(1));
  await world.settle();
  world.observe(exited(2, { id: asContainerId('c-2') }));
  await world.settle();
  expect(world.warnings).toEqual(['Failed to record the end of a container or pod']);
  expect(world.dropped).toEqual(['record', 'record']);
  world.isFull = false;
  world.observe(exited(3, { id: asContainerId('c-3') }));
  await world.settle();
  expect(world.records().map(({ exitCode }) => exitCode)).toEqual([3]);
});

test('beyond 1,000 waiting ends log lines are dropped, beyond 10,000 records', async () => {
  const world = await start();
  const containers = Array.from({ length: 11_000 }, (_, index) =>
    exited(1, { id: asContainerId(`c-${index}`), logPath: '/l' }),
  );
  world.observe(...containers);
  expect(world.dropped.filter((part) => part === 'record')).toHaveLength(1_000);
  await world.clock.advance(1_000);
  expect(world.reads).toBe(1_000);
  expect(world.dropped.filter((part) => part === 'lines')).toHaveLength(9_000);
});

test('without log lines the log is not read', async () => {
  const world = await start(undefined, 0);
  world.observe(exited(1, { logPath: '/l' }));
  await world.settle();
  expect([world.reads, world.records().length]).toEqual([0, 1]);
  expect(world.records()[0]).not.toHaveProperty('lastLines');
});

test('what was noted when the kubelet stops is still written', async () => {
  const world = await start();
  world.observe(exited(1));
  await world.stop();
  expect(world.records()).toHaveLength(1);
});
