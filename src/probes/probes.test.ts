// Probes over their stores on the fake clock, with scripted answers.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aContainer, anObservedContainer, anObservedPod, aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Container, Pod, Probe } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asContainerId, asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import type { ProbeKind } from '../api/ports/probe-results.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { ProbeMetrics } from './probe-metrics.ts';
import { ProbeReports } from './probe-reports.ts';
import { ProbeResults } from './probe-results.ts';
import { ProbeRuns } from './probe-runs.ts';
import { Probes } from './probes.ts';
import { ResultCheckpoint } from './result-checkpoint.ts';
import type { ProbeVerdict } from './run-probe.ts';

const uid = asPodUid('uid-p');
const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 0,
  waiting: {},
  explain: '',
  explainSinceMs: 0,
};
const terminating: PodLifecycle = {
  state: 'terminating',
  startedAtMs: 0,
  graceSeconds: 30,
  sinceMs: 0,
  why: '',
  explain: '',
};

class Store<T> {
  readonly changed = new Channel<PodUid>();
  readonly #values = new Map<PodUid, T>();
  get(key: PodUid): T | undefined {
    return this.#values.get(key);
  }
  all(): readonly { readonly uid: PodUid }[] {
    return [...this.#values.keys()].map((each) => ({ uid: each }));
  }
  put(value: T | undefined, key = uid): void {
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    this.changed.push(key);
  }
}

type Answer = 'success' | 'warning' | 'failure' | 'errored' | 'gone' | 'hang' | 'slow';

/** A node: the state that outlives the kubelet, and the running kubelet. */
class Bench {
  readonly clock = new FakeClock(1_000_000);
  readonly events: string[] = [];
  readonly probed: { readonly at: number; readonly id: string; readonly by: string }[] = [];
  readonly announced: PodUid[] = [];
  disk: string | undefined;
  /** The answers by target port; the tests use one port per kind of probe. */
  answers: Record<string, Answer> = {};
  random = 0.5;
  desired = new Store<{ readonly pod: Pod }>();
  observed = new Store<ObservedPod>();
  lifecycles = new Store<PodLifecycle>();
  /** By full name. */
  readonly mirrors = new Map<string, Pod>();
  mirrorChanged = new Channel<string>();
  results = new ProbeResults();
  metrics = new ProbeMetrics();
  readonly beganMs = this.clock.now();
  readonly strips = new ProbeRuns(this.clock);
  probes = this.#assemble();
  aborted = 0;
  #stop = new AbortController();
  #stopped: Promise<void> = Promise.resolve();

  #assemble(): Probes {
    const { clock, results } = this;
    const log = textLogger({ write: () => undefined, clock, verbosity: new Verbosity(0), pid: 1 });
    const file = {
      read: async () => this.disk,
      write: async (text: string) => void (this.disk = text),
    };
    results.changed.subscribe((each) => void this.announced.push(each));
    return new Probes({
      desired: this.desired,
      observed: this.observed,
      lifecycles: this.lifecycles,
      apiPods: { mirror: (name) => this.mirrors.get(name), mirrorChanged: this.mirrorChanged },
      clock,
      worker: {
        run: (id, target, signal) => this.#run(id, target, signal),
        results,
        checkpoint: new ResultCheckpoint({ file, clock, log }),
        reports: new ProbeReports({
          events: {
            pod: (_pod, { reason, message, type }, path) =>
              void this.events.push(`${type} ${reason} ${path}: ${message}`),
            node: () => undefined,
          },
          metrics: this.metrics,
          runs: this.strips,
          log,
        }),
        podIp: () => '10.0.0.1',
        clock,
        random: () => this.random,
      },
    });
  }

  #run(id: string, target: () => object, signal: AbortSignal): Promise<ProbeVerdict> {
    const by = JSON.stringify(target()).match(/"port":(\d+)/)?.[1] ?? 'exec';
    this.probed.push({ at: this.clock.monotonic(), id, by });
    const answer = this.answers[by] ?? 'success';
    if (answer === 'hang') {
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          this.aborted += 1;
          resolve({ result: 'gone' });
        }),
      );
    }
    if (answer === 'slow') {
      const answered = { result: 'success', output: '' } as const;
      return this.clock.sleep(2_500, signal).then(
        () => answered,
        () => answered,
      );
    }
    if (answer === 'gone') return Promise.resolve({ result: 'gone' });
    if (answer === 'errored') return Promise.resolve({ result: 'errored', state: 'unknown', output: 'why' });
    return Promise.resolve({ result: answer, output: 'why' });
  }

  async start(): Promise<void> {
    this.#stop = new AbortController();
    const { stopped } = await startComponent(this.probes, this.#stop.signal);
    this.#stopped = stopped;
    await this.clock.advance(0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#stopped;
  }

  /** Stops the kubelet and starts the next one over the same runtime and disk. */
  async restart(): Promise<void> {
    await this.stop();
    const [pod, seen] = [this.desired.get(uid), this.observed.get(uid)];
    this.desired = new Store();
    this.observed = new Store();
    this.lifecycles = new Store();
    this.results = new ProbeResults();
    this.announced.length = 0;
    this.probed.length = 0;
    this.probes = this.#assemble();
    await this.start();
    this.desired.put(pod);
    this.lifecycles.put(syncing);
    this.observed.put(seen);
    await this.clock.advance(0);
  }

  wants(pod: Pod): void {
    this.desired.put({ pod });
    this.lifecycles.put(syncing);
  }

  /** Observes a container that has just started, unless `over` overrides it. */
  async runs(over: Partial<ObservedContainer> = {}): Promise<void> {
    const container = anObservedContainer({ startedAtMs: this.clock.now(), ...over });
    this.observed.put(anObservedPod({ containers: [container] }));
    await this.clock.advance(0);
  }

  get(kind: ProbeKind, id = 'c-1'): string | undefined {
    return this.results.get(asContainerId(id), kind);
  }

  /** Monotonic seconds at which probes ran, counted from the first start. */
  times(by?: string): readonly number[] {
    return this.probed.filter((each) => by === undefined || each.by === by).map(({ at }) => at / 1_000);
  }
}

const probe = (port: number, over: Partial<Probe> = {}): Probe => ({ tcpSocket: { port }, ...over });
const podWith = (container: Partial<Container>, init: Container[] = []): Pod =>
  aPod({ containers: [aContainer(container)], ...(init.length === 0 ? {} : { initContainers: init }) });
const live = probe(1, { periodSeconds: 1, failureThreshold: 2 });
const ready = probe(2, { periodSeconds: 1, failureThreshold: 2, successThreshold: 2 });
const startup = probe(3, { periodSeconds: 1, failureThreshold: 5 });
const [liveBy, readyBy, startupBy] = ['1', '2', '3'];

describe('probes', () => {
  let b: Bench;
  beforeEach(async () => {
    b = new Bench();
    await b.start();
  });
  afterEach(async () => {
    await b.stop();
    expect(b.clock.pendingTimers()).toBe(0);
  });

  describe('before the first probe', () => {
    test('a container is live, not ready and not started', async () => {
      b.wants(podWith({ livenessProbe: live, readinessProbe: ready, startupProbe: startup }));
      await b.runs();
      expect([b.get('liveness'), b.get('readiness'), b.get('startup')]).toEqual([
        'success',
        'failure',
        'unknown',
      ]);
      expect(b.announced).toEqual([]);
    });
    test('a container without probes has no result', async () => {
      b.wants(podWith({}));
      await b.runs();
      expect([b.probes.size, b.results.size]).toEqual([0, 0]);
    });
    test('a created container is not probed', async () => {
      b.wants(podWith({ readinessProbe: ready }));
      await b.runs({ state: 'created', startedAtMs: 0 });
      await b.clock.advance(5_000);
      expect(b.probed).toEqual([]);
    });
  });

  describe('readiness of a container whose server does not listen yet', () => {
    const slow = probe(2, { periodSeconds: 10, failureThreshold: 1 });
    const begin = async (readinessProbe: Probe): Promise<void> => {
      b.answers = { [readyBy]: 'failure', exec: 'failure' };
      b.wants(podWith({ readinessProbe }));
      await b.runs();
    };
    test('is retried soon, and succeeds as soon as it listens, without events', async () => {
      await begin(slow);
      await b.clock.advance(500);
      b.answers[readyBy] = 'success';
      await b.clock.advance(500);
      expect(b.get('readiness')).toBe('success');
      expect(b.events).toEqual([]);
      await b.clock.advance(20_000);
      expect(b.times()).toEqual([0, 0.1, 0.3, 0.7, 10.7, 20.7]);
    });
    test('counts and reports each failure after two seconds', async () => {
      await begin(slow);
      await b.clock.advance(1_900);
      expect(b.events).toEqual([]);
      await b.clock.advance(30_000);
      expect(b.times()).toEqual([0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 10, 20, 30]);
      expect(b.events).toHaveLength(5);
    });
    test('counts and reports failures from the second probe on if the period is shorter', async () => {
      await begin({ exec: { command: ['true'] }, periodSeconds: 1 });
      await b.clock.advance(3_000);
      expect([b.times(), b.events.length]).toEqual([[0, 1, 2, 3], 3]);
    });
    test('reports the first failure after a success, even in the first period', async () => {
      await begin(slow);
      b.answers[readyBy] = 'success';
      await b.clock.advance(200);
      b.answers[readyBy] = 'failure';
      await b.clock.advance(10_000);
      expect(b.times()).toEqual([0, 0.1, 10.1]);
      expect(b.events).toHaveLength(1);
    });
    test('retries a command less often', async () => {
      await begin({ exec: { command: ['true'] }, periodSeconds: 10 });
      await b.clock.advance(20_000);
      expect(b.times()).toEqual([0, 1, 3, 7, 10, 20]);
    });
    test('treats a container older than the kubelet as not new', async () => {
      await begin(slow);
      await b.clock.advance(60_000);
      const reported = b.events.length;
      await b.restart();
      await b.clock.advance(15_000);
      expect(b.probed).toHaveLength(2);
      expect(b.events).toHaveLength(reported + 2);
    });
    test('reports a failure of a container that was ready at once', async () => {
      b.wants(podWith({ readinessProbe: slow }));
      await b.runs();
      b.answers[readyBy] = 'failure';
      await b.clock.advance(10_000);
      expect([b.get('readiness'), b.events.length]).toEqual(['failure', 1]);
    });
    test('probes again a period later after an errored probe', async () => {
      await begin(slow);
      b.answers[readyBy] = 'errored';
      await b.clock.advance(15_000);
      expect(b.times()).toEqual([0, 0.1, 10.1]);
    });
  });

  describe('readiness', () => {
    beforeEach(async () => {
      b.wants(podWith({ readinessProbe: ready }));
      await b.runs();
    });
    test('is probed at once and then every period', async () => {
      await b.clock.advance(3_000);
      expect(b.times()).toEqual([0, 1, 2, 3]);
    });
    test('changes at its thresholds and announces each change once', async () => {
      await b.clock.advance(500);
      expect(b.get('readiness')).toBe('failure');
      await b.clock.advance(1_000);
      expect(b.get('readiness')).toBe('success');
      b.answers[readyBy] = 'failure';
      await b.clock.advance(1_000);
      expect(b.get('readiness')).toBe('success');
      await b.clock.advance(3_000);
      expect(b.get('readiness')).toBe('failure');
      expect(b.announced).toEqual([uid, uid]);
      expect(new Set(b.events)).toEqual(
        new Set(['Warning Unhealthy spec.containers{c}: Readiness probe failed: why']),
      );
    });
    test('counts a warning as success and emits an event', async () => {
      b.answers[readyBy] = 'warning';
      await b.clock.advance(1_500);
      expect(b.get('readiness')).toBe('success');
      expect(b.events[0]).toBe('Warning ProbeWarning spec.containers{c}: Readiness probe warning: why');
    });
    test('does not count an errored probe but emits an event', async () => {
      await b.clock.advance(1_500);
      b.answers[readyBy] = 'errored';
      await b.clock.advance(10_000);
      expect(b.get('readiness')).toBe('success');
      expect(b.events[0]).toBe(
        'Warning Unhealthy spec.containers{c}: Readiness probe errored and resulted in unknown state: why',
      );
    });
    test('emits no event if the container exited during the probe', async () => {
      b.answers[readyBy] = 'gone';
      await b.clock.advance(3_000);
      expect(b.events).toEqual([]);
    });
    test('continues while the pod is terminating, until the container has exited', async () => {
      await b.clock.advance(1_500);
      b.lifecycles.put(terminating);
      b.answers[readyBy] = 'failure';
      await b.clock.advance(2_000);
      expect(b.get('readiness')).toBe('failure');
      const probed = b.probed.length;
      await b.runs({ state: 'exited' });
      await b.clock.advance(5_000);
      expect([b.probed.length, b.get('readiness')]).toEqual([probed, undefined]);
    });
  });

  describe('liveness', () => {
    beforeEach(async () => {
      b.wants(podWith({ livenessProbe: live }));
      await b.runs();
      await b.clock.advance(1_500);
    });
    test('stays failed until the container is replaced', async () => {
      b.answers[liveBy] = 'failure';
      await b.clock.advance(1_000);
      expect(b.get('liveness')).toBe('success');
      await b.clock.advance(1_000);
      expect(b.get('liveness')).toBe('failure');
      const probed = b.probed.length;
      await b.clock.advance(10_000);
      expect(b.probed.length).toBe(probed);
      b.answers[liveBy] = 'success';
      await b.runs({ id: asContainerId('c-2') });
      expect([b.get('liveness'), b.get('liveness', 'c-2')]).toEqual([undefined, 'success']);
      await b.clock.advance(2_000);
      expect(b.probed.at(-1)?.id).toBe('c-2');
    });
    test('does not count failures of a replaced container against the next one', async () => {
      b.answers[liveBy] = 'failure';
      await b.clock.advance(1_000);
      await b.runs({ id: asContainerId('c-2') });
      await b.clock.advance(1_500);
      expect(b.get('liveness', 'c-2')).toBe('success');
    });
    test('discards the result of a replaced container', async () => {
      b.answers[liveBy] = 'hang';
      await b.clock.advance(1_000);
      await b.runs({ id: asContainerId('c-2') });
      expect(b.aborted).toBe(1);
      b.answers[liveBy] = 'success';
      await b.clock.advance(1_000);
      expect(b.probed.at(-1)?.id).toBe('c-2');
    });
    for (const [how, end] of [
      ['removed from its source', () => b.lifecycles.put(terminating)],
      [
        'its object has a deletion timestamp',
        () => {
          const pod = podWith({ livenessProbe: live });
          b.desired.put({
            pod: { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
          });
        },
      ],
    ] as const) {
      test(`is not probed once the pod is terminating: ${how}`, async () => {
        b.answers[liveBy] = 'failure';
        await b.clock.advance(2_000);
        expect(b.get('liveness')).toBe('failure');
        end();
        expect(b.get('liveness')).toBe('success');
        const probed = b.probed.length;
        await b.clock.advance(5_000);
        expect(b.probed.length).toBe(probed);
      });
    }
  });

  describe('startup', () => {
    const all = { livenessProbe: live, readinessProbe: ready, startupProbe: startup };
    test('delays the other probes until it succeeds, and then is not probed again', async () => {
      b.answers[startupBy] = 'failure';
      b.wants(podWith(all));
      await b.runs();
      await b.clock.advance(3_500);
      expect(b.probed.map(({ by }) => by)).toEqual([startupBy, startupBy, startupBy]);
      b.answers[startupBy] = 'success';
      await b.clock.advance(500);
      expect(b.get('startup')).toBe('success');
      expect(b.times(readyBy)).toEqual([4]);
      await b.clock.advance(5_000);
      expect(b.times(startupBy)).toEqual([1, 2, 3, 4]);
    });
    test('fails at its threshold, and all probes wait for a new container', async () => {
      b.answers[startupBy] = 'failure';
      b.wants(podWith(all));
      await b.runs();
      await b.clock.advance(60_000);
      expect(b.get('startup')).toBe('failure');
      expect(b.probed).toHaveLength(5);
      b.answers[startupBy] = 'success';
      await b.runs({ id: asContainerId('c-2') });
      await b.clock.advance(2_000);
      expect(b.get('startup', 'c-2')).toBe('success');
    });
    test('a pod that terminates before it has started is not reported as started', async () => {
      b.answers[startupBy] = 'failure';
      b.wants(podWith({ startupProbe: startup }));
      await b.runs();
      await b.clock.advance(60_000);
      b.lifecycles.put(terminating);
      expect([b.get('startup'), b.results.started(asContainerId('c-1'))]).toEqual(['unknown', false]);
    });
  });

  test('sidecars are probed, other init containers are not', async () => {
    const sidecar = aContainer({ name: 'side', restartPolicy: 'Always', readinessProbe: ready });
    const init = aContainer({ name: 'init', readinessProbe: ready });
    b.wants(podWith({}, [sidecar, init]));
    await b.runs({ name: 'side', id: asContainerId('s-1') });
    await b.clock.advance(1_500);
    expect([b.probes.size, b.get('readiness', 's-1')]).toEqual([1, 'success']);
    b.lifecycles.put(terminating);
  });

  test('counts the initial delay from the start of the container', async () => {
    b.wants(podWith({ readinessProbe: { ...ready, initialDelaySeconds: 20 } }));
    await b.runs({ startedAtMs: b.clock.now() - 15_000 });
    await b.clock.advance(6_500);
    expect(b.times()).toEqual([5, 6]);
  });

  test('does not delay the first probe if the wall clock was set back', async () => {
    b.wants(podWith({ readinessProbe: ready }));
    await b.runs({ startedAtMs: b.clock.now() + 3_600_000 });
    await b.clock.advance(100);
    expect(b.probed).toHaveLength(1);
  });

  test('a probe that hangs blocks no other probe', async () => {
    b.answers[liveBy] = 'hang';
    b.wants(podWith({ livenessProbe: live, readinessProbe: ready }));
    await b.runs();
    await b.clock.advance(10_000);
    expect([b.times(liveBy).length, b.get('readiness')]).toEqual([1, 'success']);
  });

  test('starts the next probe at once after one that took longer than its period', async () => {
    b.answers[readyBy] = 'slow';
    b.wants(podWith({ readinessProbe: ready }));
    await b.runs();
    await b.clock.advance(6_000);
    expect(b.times()).toEqual([0, 2.5, 5]);
  });

  test('leaves no worker, result, timer or metric of a removed pod', async () => {
    b.answers[liveBy] = 'hang';
    b.wants(
      podWith({ livenessProbe: live, readinessProbe: ready, startupProbe: probe(4, { periodSeconds: 1 }) }),
    );
    await b.runs();
    await b.clock.advance(4_000);
    expect([b.probes.size, b.metrics.render().includes('pod="p"')]).toEqual([3, true]);
    b.desired.put(undefined);
    b.lifecycles.put(undefined);
    await b.clock.advance(0);
    expect([b.probes.size, b.results.size, b.clock.pendingTimers()]).toEqual([0, 0, 1]);
    expect([b.aborted, b.metrics.render().includes('pod="p"')]).toEqual([1, false]);
  });

  test('records each result as a run of equal results, also failures that are not reported yet', async () => {
    b.answers = { [readyBy]: 'failure', [liveBy]: 'warning' };
    b.wants(podWith({ readinessProbe: probe(2), livenessProbe: live }));
    await b.runs();
    await b.clock.advance(500);
    b.answers[readyBy] = 'success';
    await b.clock.advance(20_500);
    b.answers[liveBy] = 'errored';
    await b.clock.advance(1_000);
    expect(b.strips.of(uid)).toEqual([
      {
        container: 'c',
        kind: 'readiness',
        periodSeconds: 10,
        runs: [
          { result: 'failure', count: 3, firstMs: 0, lastMs: 300, slowestMs: 0, output: 'why' },
          { result: 'success', count: 3, firstMs: 700, lastMs: 20_700, slowestMs: 0 },
        ].map((run) => ({
          ...run,
          firstMs: b.beganMs + run.firstMs,
          lastMs: b.beganMs + run.lastMs,
        })),
      },
      expect.objectContaining({
        kind: 'liveness',
        periodSeconds: 1,
        runs: [
          expect.objectContaining({ result: 'success', count: 21 }),
          expect.objectContaining({ result: 'unknown', count: 1, output: 'why' }),
        ],
      }),
    ]);
  });

  test('keeps the runs of a container over its restart, and drops them with the pod', async () => {
    b.wants(podWith({ livenessProbe: live }));
    await b.runs();
    await b.clock.advance(1_500);
    await b.runs({ id: asContainerId('c-2') });
    await b.clock.advance(1_000);
    expect(b.strips.of(uid)).toMatchObject([{ runs: [{ result: 'success', count: 2 }] }]);
    b.desired.put(undefined);
    b.lifecycles.put(undefined);
    await b.clock.advance(0);
    expect([b.strips.of(uid), b.strips.size]).toEqual([[], 0]);
  });

  test('does not probe a rejected pod', async () => {
    b.wants(podWith({ readinessProbe: ready }));
    await b.runs();
    b.lifecycles.put({ state: 'rejected', startedAtMs: 0, reason: '', message: '' });
    await b.clock.advance(5_000);
    expect([b.probes.size, b.probed.length]).toEqual([0, 1]);
  });

  test('keeps results while the state of a container is unknown for a moment', async () => {
    b.wants(podWith({ readinessProbe: ready }));
    await b.runs();
    await b.clock.advance(1_500);
    const startedAtMs = b.clock.now() - 1_500;
    await b.runs({ state: 'unknown', startedAtMs });
    b.observed.put(undefined);
    await b.runs({ startedAtMs });
    expect([b.get('readiness'), b.announced]).toEqual(['success', [uid]]);
  });

  test('counts and times results', async () => {
    b.wants(podWith({ readinessProbe: ready }));
    await b.runs();
    await b.clock.advance(1_500);
    b.answers[readyBy] = 'failure';
    await b.clock.advance(1_000);
    const labels = 'container="c",pod="p",namespace="default"';
    const text = b.metrics.render();
    expect(text).toContain(
      `prober_probe_total{probe_type="Readiness",result="successful",${labels},pod_uid="uid-p"} 2`,
    );
    expect(text).toContain(
      `prober_probe_total{probe_type="Readiness",result="failed",${labels},pod_uid="uid-p"} 1`,
    );
    expect(text).toContain(`prober_probe_duration_seconds_count{probe_type="Readiness",${labels}} 2`);
  });

  describe('after a restart of the kubelet', () => {
    const all = { livenessProbe: live, readinessProbe: ready, startupProbe: startup };
    beforeEach(async () => {
      b.wants(podWith(all));
      await b.runs();
      await b.clock.advance(10_000);
      expect([b.get('startup'), b.get('readiness')]).toEqual(['success', 'success']);
    });
    test('keeps all results without announcing them', async () => {
      await b.restart();
      expect([b.get('startup'), b.get('readiness'), b.get('liveness')]).toEqual([
        'success',
        'success',
        'success',
      ]);
      await b.clock.advance(5_000);
      expect(b.announced).toEqual([]);
    });
    test('runs each probe within a second, except startup probes that succeeded', async () => {
      b.random = 0.7;
      await b.restart();
      const from = b.clock.monotonic() / 1_000;
      await b.clock.advance(999);
      expect(b.probed.map(({ by }) => by).toSorted()).toEqual([liveBy, readyBy]);
      expect(b.times().map((at) => at - from)).toEqual([0.7, 0.7].map((each) => expect.closeTo(each, 3)));
    });
    test('counts new results from the thresholds on', async () => {
      b.answers[readyBy] = 'failure';
      await b.restart();
      await b.clock.advance(900);
      expect(b.get('readiness')).toBe('success');
      await b.clock.advance(1_000);
      expect([b.get('readiness'), b.announced]).toEqual(['failure', [uid]]);
    });
    test('starts over for a container that was replaced meanwhile', async () => {
      b.observed.put(anObservedPod({ containers: [anObservedContainer({ id: asContainerId('c-2') })] }));
      await b.clock.advance(0);
      b.answers[startupBy] = 'failure';
      await b.restart();
      expect([b.get('startup', 'c-2'), b.get('readiness', 'c-2')]).toEqual(['unknown', 'failure']);
    });
    test('uses the status in the API server if there is no checkpoint', async () => {
      b.disk = undefined;
      const pod = podWith(all);
      const status = { containerID: 'containerd://c-1', ready: true, started: true };
      b.desired.put({
        pod: {
          ...pod,
          status: { containerStatuses: [{ ...status, name: 'c', image: '', imageID: '', restartCount: 0 }] },
        },
      });
      await b.stop();
      b.disk = undefined;
      await b.restart();
      expect([b.get('startup'), b.get('readiness')]).toEqual(['success', 'success']);
    });
    describe('of a static pod without a checkpoint', () => {
      const status = { containerID: 'containerd://c-1', ready: true, started: true };
      const annotate = (annotations: Record<string, string>): Pod => {
        const pod = podWith(all);
        return { ...pod, metadata: { ...pod.metadata, annotations } };
      };
      const mirror = (hash: string): Pod => ({
        ...annotate({ 'kubernetes.io/config.mirror': hash }),
        status: { containerStatuses: [{ ...status, name: 'c', image: '', imageID: '', restartCount: 0 }] },
      });
      const listMirror = (hash = 'h'): void => {
        const pod = mirror(hash);
        const name = `${pod.metadata?.name}_${pod.metadata?.namespace}`;
        b.mirrors.set(name, pod);
        b.mirrorChanged.push(name);
      };
      beforeEach(async () => {
        const source = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h' };
        b.desired.put({ pod: annotate(source) });
        await b.stop();
        b.disk = undefined;
      });

      test('uses the status of its mirror pod that is already listed', async () => {
        listMirror();
        await b.restart();
        expect([b.get('startup'), b.get('readiness')]).toEqual(['success', 'success']);
      });
      test('keeps the adopted results for a restart without the API server', async () => {
        listMirror();
        await b.restart();
        await b.stop();
        b.mirrors.clear();
        await b.restart();
        expect([b.get('startup'), b.get('readiness')]).toEqual(['success', 'success']);
      });
      test('uses the status of its mirror pod that is listed later, and does not probe the start again', async () => {
        b.random = 0.7;
        await b.restart();
        expect([b.get('startup'), b.get('readiness')]).toEqual(['unknown', 'failure']);
        listMirror();
        expect([b.get('startup'), b.get('readiness'), b.announced.length]).toEqual(['success', 'success', 2]);
        await b.clock.advance(999);
        expect(b.probed.map(({ by }) => by).toSorted()).toEqual([liveBy, readyBy]);
      });
      test('ignores the mirror pod of another manifest', async () => {
        await b.restart();
        listMirror('other');
        expect([b.get('startup'), b.get('readiness')]).toEqual(['unknown', 'failure']);
      });
      test('prefers the result of a probe to the status of a mirror pod that is listed after it', async () => {
        b.answers[readyBy] = 'failure';
        await b.restart();
        await b.clock.advance(5_000);
        expect([b.get('startup'), b.get('readiness')]).toEqual(['success', 'failure']);
        listMirror();
        expect([b.get('startup'), b.get('readiness')]).toEqual(['success', 'failure']);
      });
      test('aborts a startup probe in flight once the mirror pod shows that the container has started', async () => {
        b.answers[startupBy] = 'hang';
        await b.restart();
        await b.clock.advance(999);
        listMirror();
        await b.clock.advance(0);
        expect([b.aborted, b.get('startup')]).toEqual([1, 'success']);
      });
    });
    test('has no transition over ten restarts at any moment', async () => {
      for (let restart = 0; restart < 10; restart++) {
        await b.restart();
        await b.clock.advance(restart * 237);
        expect([b.get('startup'), b.get('readiness'), b.announced]).toEqual(['success', 'success', []]);
      }
    });
  });

  test('spreads 500 probes over a second after a restart', async () => {
    await b.stop();
    const many = new Bench();
    let next = 0;
    Object.defineProperty(many, 'random', { get: () => (next++ % 500) / 500 });
    await many.start();
    for (let i = 0; i < 500; i++) {
      const key = asPodUid(`u${i}`);
      many.desired.put({ pod: podWith({ readinessProbe: probe(2) }) }, key);
      many.lifecycles.put(syncing, key);
      const container = anObservedContainer({ id: asContainerId(`c${i}`), startedAtMs: 5 });
      many.observed.put(anObservedPod({ uid: key, containers: [container] }), key);
    }
    await many.clock.advance(1_000);
    expect(many.probed).toHaveLength(500);
    const busiest = Math.max(
      ...Array.from({ length: 10 }, (_, i) => many.times().filter((at) => Math.floor(at * 10) === i).length),
    );
    expect(busiest).toBeLessThanOrEqual(60);
    await many.stop();
  });
});
