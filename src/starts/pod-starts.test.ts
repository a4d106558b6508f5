import { beforeEach, describe, expect, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
  exited,
} from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Container, Pod, PodStatus } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedPod } from '../api/pod/observed.ts';
import { asContainerId, asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import type { PodStart } from '../api/ports/node-page.ts';
import type { ProbeKind, ProbeOutcome } from '../api/ports/probe-results.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { PodStarts } from './pod-starts.ts';

const uid = asPodUid('uid-p');
const readinessProbe = { tcpSocket: { port: 1 } };

class Store<T> {
  readonly changed = new Channel<PodUid>();
  value: T | undefined;
  get(): T | undefined {
    return this.value;
  }
  put(value: T | undefined): void {
    this.value = value;
    this.changed.push(uid);
  }
}

class Bench {
  readonly clock = new FakeClock(1_000_000);
  readonly beganMs = this.clock.now();
  readonly desired = new Store<{ readonly pod: Pod }>();
  readonly lifecycles = new Store<object>();
  readonly observed = new Store<ObservedPod>();
  readonly statuses = new Store<PodStatus>();
  readonly outcomes = new Map<string, ProbeOutcome>();
  readonly probesChanged = new Channel<PodUid>();
  readonly announced: PodUid[] = [];
  readonly starts = new PodStarts({
    desired: this.desired,
    lifecycles: this.lifecycles,
    observed: this.observed,
    statuses: this.statuses,
    probes: {
      get: (id: string, kind: ProbeKind) => this.outcomes.get(`${id}/${kind}`),
      changed: this.probesChanged,
    },
    clock: this.clock,
  });

  async start(): Promise<void> {
    this.starts.changed.subscribe((each) => void this.announced.push(each));
    await startComponent(this.starts, new AbortController().signal);
  }

  wants(...containers: readonly Container[]): void {
    this.desired.put({ pod: aPod({ containers: [...containers] }) });
    this.lifecycles.put({});
  }

  /** A step that takes so long. */
  async step(stage: Parameters<PodStarts['begin']>[1], ms: number, name?: string, failure?: unknown) {
    const open = this.starts.begin(uid, stage, name);
    await this.clock.advance(ms);
    open.end(failure);
  }

  async runs(name: string, attempt = 1): Promise<void> {
    await this.step('create', 10, name);
    await this.step('start', 20, name);
    this.starts.started(uid, name, asContainerId(`${name}-${attempt}`));
  }

  sees(...containers: readonly ObservedContainer[]): void {
    this.observed.put(anObservedPod({ containers }));
  }

  reports(ready: 'True' | 'False', ms = this.clock.now()): void {
    const lastTransitionTime = new Date(ms).toISOString();
    this.statuses.put({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready, lastTransitionTime }],
    });
  }

  of(): readonly PodStart[] {
    return this.starts.of(uid);
  }

  lines(index = 0): readonly string[] {
    return (this.of()[index]?.stages ?? []).map(({ beginMs, container = '', endMs, error = '', stage }) =>
      [stage, container, beginMs - this.beganMs, endMs === undefined ? '…' : endMs - this.beganMs, error]
        .filter((each) => each !== '')
        .join(' '),
    );
  }
}

describe('PodStarts', () => {
  let b: Bench;
  beforeEach(async () => {
    b = new Bench();
    await b.start();
  });

  describe('the start of a pod', () => {
    test('begins when the kubelet first saw the pod, not with its first stage', async () => {
      b.wants(aContainer());
      await b.clock.advance(700);
      await b.step('admit', 5);
      expect(b.of()).toEqual([
        {
          beginMs: b.beganMs,
          from: 'recorded',
          stages: [{ stage: 'admit', beginMs: b.beganMs + 700, endMs: b.beganMs + 705 }],
        },
      ]);
    });

    test('continues a stage that did not end', async () => {
      b.wants(aContainer());
      b.starts.begin(uid, 'admit');
      await b.clock.advance(1_000);
      await b.step('admit', 5);
      expect(b.lines()).toEqual(['admit 0 1005']);
    });

    test('shows a failed stage with its error, and its repetition as another stage', async () => {
      b.wants(aContainer());
      await b.step('sandbox', 10, undefined, new Error('no network'));
      await b.step('sandbox', 10);
      expect(b.lines()).toEqual(['sandbox 0 10 no network', 'sandbox 10 20']);
    });

    test('only the first end of a stage counts', async () => {
      b.wants(aContainer());
      const open = b.starts.begin(uid, 'sandbox');
      open.end(new Error('first'));
      await b.clock.advance(10);
      open.end();
      expect(b.lines()).toEqual(['sandbox 0 0 first']);
    });

    test('a wall clock that is set back does not end a stage before it began', () => {
      b.wants(aContainer());
      const open = b.starts.begin(uid, 'sandbox');
      b.clock.stepWall(-500_000);
      open.end();
      expect(b.lines()).toEqual(['sandbox 0 0']);
    });

    test('waits for Ready once all containers run, and ends with it', async () => {
      b.wants(aContainer(), aContainer({ name: 'd' }));
      await b.step('sandbox', 100);
      await b.runs('c');
      b.sees(anObservedContainer());
      b.reports('True');
      expect(b.lines().at(-1)).toBe('start c 110 130');
      await b.runs('d');
      b.sees(anObservedContainer(), anObservedContainer({ name: 'd' }));
      await b.clock.advance(40);
      b.reports('False');
      expect(b.lines().at(-1)).toBe('ready 160 …');
      b.reports('True');
      expect(b.lines().at(-1)).toBe('ready 160 200');
      expect(b.of()[0]).toMatchObject({ readyMs: b.beganMs + 200 });
      await b.clock.advance(1_000);
      b.reports('False');
      b.reports('True');
      expect(b.of()[0]).toMatchObject({ readyMs: b.beganMs + 200 });
    });

    test('does not wait for Ready while a container has exited', async () => {
      b.wants(aContainer());
      await b.step('sandbox', 100);
      await b.runs('c');
      b.sees(exited(1));
      expect(b.lines().at(-1)).toBe('start c 110 130');
    });

    test('of a new sandbox is another start', async () => {
      b.wants(aContainer());
      await b.step('sandbox', 100);
      await b.runs('c');
      await b.clock.advance(1_000);
      await b.step('sandbox', 100);
      await b.runs('c', 2);
      expect(b.of().map(({ restartOf, stages }) => [restartOf, stages.length])).toEqual([
        [undefined, 3],
        [undefined, 3],
      ]);
      expect(b.lines()).toEqual(['sandbox 1130 1230', 'create c 1230 1240', 'start c 1240 1260']);
    });
  });

  describe('the first probe', () => {
    beforeEach(async () => {
      b.wants(aContainer({ readinessProbe, startupProbe: readinessProbe }));
      await b.step('sandbox', 100);
      await b.runs('c');
      await b.clock.advance(500);
    });

    test('ends with the first success of the startup or the readiness probe', () => {
      b.outcomes.set('c-1/startup', 'failure');
      b.probesChanged.push(uid);
      expect(b.lines().at(-1)).toBe('first-probe c 130 …');
      b.outcomes.set('c-1/startup', 'success');
      b.probesChanged.push(uid);
      expect(b.lines().at(-1)).toBe('first-probe c 130 630');
    });

    test('fails if the container exits before, at that time', () => {
      b.sees(exited(1, { finishedAtMs: b.beganMs + 400 }));
      expect(b.lines().at(-1)).toBe('first-probe c 130 400 the container exited before');
    });

    test('is not ended by the result of another container', () => {
      b.outcomes.set('c-0/readiness', 'success');
      b.probesChanged.push(uid);
      expect(b.lines().at(-1)).toBe('first-probe c 130 …');
    });
  });

  test('a container without a probe has no first probe, and a postStart hook belongs to its start', async () => {
    b.wants(aContainer());
    await b.step('sandbox', 100);
    await b.runs('c');
    await b.step('postStart', 10, 'c', 'the hook failed');
    expect(b.lines().slice(2)).toEqual(['start c 110 130', 'postStart c 130 140 the hook failed']);
  });

  describe('an init container', () => {
    beforeEach(async () => {
      const initContainers = [aContainer({ name: 'i' }), aContainer({ name: 's', restartPolicy: 'Always' })];
      b.desired.put({ pod: aPod({ initContainers }) });
      await b.step('sandbox', 100);
      await b.runs('i');
    });

    test('runs until its exit is observed', async () => {
      b.sees(anObservedContainer({ name: 'i' }));
      await b.clock.advance(1_000);
      expect(b.lines().at(-1)).toBe('run i 130 …');
      b.sees(exited(0, { name: 'i', finishedAtMs: b.beganMs + 899.7 }));
      expect(b.lines().at(-1)).toBe('run i 130 900');
    });

    test('that exited before its start was reported ends when the starts are read', async () => {
      b.observed.value = anObservedPod({
        containers: [exited(0, { name: 'i', finishedAtMs: b.beganMs + 120 })],
      });
      expect(b.lines().at(-1)).toBe('run i 130 130');
    });

    test('that fails restarts as a start of its own', async () => {
      b.sees(exited(2, { name: 'i', finishedAtMs: b.beganMs + 200, reason: 'OOMKilled' }));
      expect(b.lines().at(-1)).toBe('run i 130 200 OOMKilled, exit code 2');
      await b.runs('i', 2);
      expect(b.of().map(({ restartOf }) => restartOf)).toEqual(['i', undefined]);
      expect(b.lines()).toEqual(['create i 130 140', 'start i 140 160', 'run i 160 …']);
    });

    test('that is a sidecar does not run to completion', async () => {
      await b.runs('s');
      expect(b.lines().at(-1)).toBe('start s 140 160');
    });
  });

  describe('restarts', () => {
    beforeEach(async () => {
      b.wants(aContainer());
      await b.step('sandbox', 100);
      await b.runs('c');
      b.reports('True');
    });

    test('one that fails is continued until the container has started', async () => {
      await b.step('pull', 50, 'c', new Error('no registry'));
      await b.step('pull', 50, 'c');
      await b.runs('c', 2);
      await b.clock.advance(10);
      b.reports('True');
      expect(b.of()).toHaveLength(2);
      expect(b.lines()).toEqual([
        'pull c 130 180 no registry',
        'pull c 180 230',
        'create c 230 240',
        'start c 240 260',
        'ready 260 270',
      ]);
      expect(b.of()[0]).toMatchObject({ restartOf: 'c', beginMs: b.beganMs + 130, readyMs: b.beganMs + 270 });
    });

    test('the first start and the last four restarts are kept', async () => {
      for (let attempt = 2; attempt < 12; attempt++) {
        await b.clock.advance(1_000);
        await b.runs('c', attempt);
      }
      const began = b.of().map(({ beginMs }) => beginMs - b.beganMs);
      expect(b.of().map(({ restartOf }) => restartOf)).toEqual(['c', 'c', 'c', 'c', undefined]);
      expect(began).toEqual([10_400, 9_370, 8_340, 7_310, 0]);
    });

    test('one that another follows never becomes ready', async () => {
      await b.runs('c', 2);
      await b.runs('c', 3);
      b.reports('True');
      expect(b.of().map(({ readyMs }) => readyMs !== undefined)).toEqual([true, false, true]);
    });

    test('an ephemeral container is a start of its own', async () => {
      b.desired.put({ pod: aPod({ ephemeralContainers: [{ name: 'e' }] }) });
      await b.runs('e');
      expect(b.of().map(({ restartOf }) => restartOf)).toEqual(['e', undefined]);
    });
  });

  describe('bounds', () => {
    test('a start has at most 64 stages; the oldest failed ones make room', async () => {
      b.wants(aContainer());
      await b.step('sandbox', 1);
      for (let count = 0; count < 200; count++) await b.step('pull', 1, 'c', new Error(`failure ${count}`));
      await b.runs('c');
      const lines = b.lines();
      expect(lines).toHaveLength(64);
      expect([lines[0], lines.at(-2), lines.at(-1)]).toEqual([
        'sandbox 0 1',
        'create c 201 211',
        'start c 211 231',
      ]);
      expect(lines[1]).toContain('failure 139');
    });

    test('further stages are not recorded if none has failed', async () => {
      const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
      b.wants(...names.map((name) => aContainer({ name })));
      await b.step('sandbox', 1);
      for (const name of names) await b.runs(name);
      b.sees(...names.map((name) => anObservedContainer({ name })));
      b.reports('True');
      expect(b.lines()).toHaveLength(64);
      expect(b.of()[0]?.readyMs).toBeDefined();
    });

    test('the start of one container has at most 16 stages', async () => {
      b.wants(aContainer());
      await b.step('sandbox', 1);
      await b.runs('c');
      for (let count = 0; count < 50; count++) await b.step('create', 1, 'c', new Error('no'));
      expect(b.lines()).toHaveLength(16);
    });

    test('a hostile error and a hostile image name have at most 200 bytes', () => {
      b.wants(aContainer());
      const hostile = '\u{1f4a9}<script>'.repeat(1_000_000);
      b.starts.begin(uid, 'pull', 'c', hostile).end(new Error(hostile));
      const [stage] = b.of()[0]?.stages ?? [];
      for (const text of [stage?.detail ?? '', stage?.error ?? '']) {
        expect(Buffer.byteLength(text)).toBeGreaterThan(150);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(200);
      }
    });

    test('nothing is kept of a pod that is gone, and a late step of it is not recorded', async () => {
      b.wants(aContainer());
      const open = b.starts.begin(uid, 'sandbox');
      b.desired.put(undefined);
      expect(b.starts.size).toBe(1);
      b.lifecycles.put(undefined);
      open.end();
      await b.runs('c');
      expect([b.starts.size, b.of(), b.announced.at(-1)]).toEqual([0, [], uid]);
    });

    test('what a reader got does not change', async () => {
      b.wants(aContainer());
      const open = b.starts.begin(uid, 'sandbox');
      const before = b.of();
      open.end();
      expect(before[0]?.stages[0]?.endMs).toBeUndefined();
    });
  });

  describe('a pod that ran before this process', () => {
    const seen = (...containers: readonly ObservedContainer[]): ObservedPod =>
      anObservedPod({ sandboxes: [aSandbox({ createdAtMs: 1_000, seenAtMs: 400 })], containers });

    beforeEach(() => {
      b.observed.value = seen(anObservedContainer());
      b.wants(aContainer());
    });

    test('is admitted without a record, and its start is made of times of runtime and status', async () => {
      await b.step('admit', 10);
      b.reports('True', 4_000);
      expect(b.of()).toEqual([
        {
          beginMs: 400,
          readyMs: 4_000,
          from: 'status',
          stages: [
            { stage: 'sandbox', beginMs: 400, endMs: 1_000 },
            { stage: 'start', container: 'c', beginMs: 2_000, endMs: 2_100 },
            { stage: 'ready', beginMs: 2_100, endMs: 4_000 },
          ],
        },
      ]);
      expect(b.announced).toEqual([]);
    });

    test('keeps that start beside the last four recorded restarts', async () => {
      for (let attempt = 2; attempt < 9; attempt++) await b.runs('c', attempt);
      expect(b.of().map(({ from, restartOf }) => `${from} ${restartOf ?? ''}`)).toEqual([
        'recorded c',
        'recorded c',
        'recorded c',
        'recorded c',
        'status ',
      ]);
    });

    test('whose start was interrupted continues it', async () => {
      b.observed.value = seen();
      await b.runs('c');
      expect(b.of()).toHaveLength(1);
      expect(b.of()[0]?.stages.map(({ stage }) => stage)).toEqual(['sandbox', 'create', 'start']);
    });

    test('whose start was interrupted shows the restart of a container that had run before as one', async () => {
      b.desired.put({ pod: aPod({ containers: [aContainer(), aContainer({ name: 'd' })] }) });
      await b.runs('d');
      await b.runs('c', 2);
      expect(b.of().map(({ from, restartOf }) => `${from} ${restartOf ?? ''}`)).toEqual([
        'recorded c',
        'status ',
      ]);
      expect(b.lines(1).map((line) => line.split(' -')[0])).toContain('start c');
    });

    test('with a new sandbox is started as a whole', async () => {
      await b.step('volumes', 10);
      await b.step('sandbox', 10);
      expect(b.of()).toMatchObject([{ from: 'recorded', beginMs: b.beganMs }]);
    });
  });
});
