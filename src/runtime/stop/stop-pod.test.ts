import { expect, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { LifecycleHandler, Pod } from '../../api/k8s/types.ts';
import { asContainerId } from '../../api/pod/pod-ref.ts';
import { noEvents } from '../../api/ports/events.ts';
import { KubeletError } from '../../base/errors.ts';
import { InFlight } from '../../base/in-flight.ts';
import { silentLogger } from '../../base/log/log.ts';
import { computeGraceSeconds, type StopDeps, type StopOptions } from './stop-container.ts';
import { stopContainers, stopSandboxes } from './stop-pod.ts';
import { TerminationOrder } from './termination-order.ts';

const deleted = (seconds: number, pod = aPod()): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionGracePeriodSeconds: seconds },
});
const probed = aPod({
  containers: [
    aContainer({
      livenessProbe: { terminationGracePeriodSeconds: 40 },
      startupProbe: { terminationGracePeriodSeconds: 50 },
    }),
  ],
});

const graces: readonly (readonly [
  string,
  Pick<StopOptions, 'pod' | 'graceSeconds' | 'cause'>,
  object,
  number,
])[] = [
  [
    "the pod's terminationGracePeriodSeconds",
    { pod: aPod({ terminationGracePeriodSeconds: 7 }), graceSeconds: undefined },
    {},
    7,
  ],
  ['deletionGracePeriodSeconds before it', { pod: deleted(5), graceSeconds: undefined }, {}, 5],
  ["the caller's before all", { pod: deleted(5), graceSeconds: 3 }, {}, 3],
  ["a liveness probe's own", { pod: probed, graceSeconds: undefined, cause: 'liveness' }, {}, 40],
  ["a startup probe's own", { pod: probed, graceSeconds: undefined, cause: 'startup' }, {}, 50],
  [
    "the pod's for a probe without its own",
    { pod: aPod(), graceSeconds: undefined, cause: 'liveness' },
    {},
    30,
  ],
  [
    'deletionGracePeriodSeconds before a probe',
    { pod: deleted(5, probed), graceSeconds: undefined, cause: 'liveness' },
    {},
    5,
  ],
  [
    'for another cause the probe does not count',
    { pod: probed, graceSeconds: undefined, cause: 'other' },
    {},
    30,
  ],
  [
    "without a pod the container's annotation",
    { pod: undefined, graceSeconds: undefined },
    { terminationGraceSeconds: 9 },
    9,
  ],
  [
    'without a pod the deletion annotation first',
    { pod: undefined, graceSeconds: undefined },
    { terminationGraceSeconds: 9, deletionGraceSeconds: 4 },
    4,
  ],
  [
    'the minimum without any',
    { pod: undefined, graceSeconds: undefined },
    { terminationGraceSeconds: undefined },
    2,
  ],
];
for (const [name, options, over, want] of graces) {
  test(`computeGraceSeconds: ${name}`, () =>
    expect(computeGraceSeconds(anObservedContainer(over), options)).toBe(want));
}

class Scene {
  readonly clock: FakeClock;
  readonly beganMs: number;
  /** `12s stop c 18`: the time, the CRI call, and its grace period. */
  readonly done: string[] = [];
  readonly events: string[] = [];
  execSeconds = 0;
  execFails = false;
  stopSeconds: Record<string, number> = {};
  readonly abort = new AbortController();

  constructor(clock = new FakeClock()) {
    this.clock = clock;
    this.beganMs = clock.monotonic();
  }

  get deps(): StopDeps {
    return {
      cri: {
        stopContainer: async ({ containerId = '', timeout }, options) => {
          this.#note(`stop ${containerId} ${timeout}`);
          if (containerId === 'gone') throw new KubeletError('not-found', 'NOT_FOUND', 'gone');
          if (containerId === 'stuck') throw new KubeletError('timeout', 'DeadlineExceeded', 'stuck');
          await this.clock.sleep((this.stopSeconds[containerId] ?? 0) * 1_000, options?.signal);
          return {};
        },
        stopPodSandbox: async ({ podSandboxId }) => {
          this.#note(`stop sandbox ${podSandboxId}`);
          return {};
        },
        execSync: async ({ containerId, cmd }, options) => {
          this.#note(`exec ${cmd?.join(' ')} in ${containerId}`);
          const startMs = this.clock.monotonic();
          await this.clock.sleep(this.execSeconds * 1_000, options?.signal).catch((err: unknown) => {
            this.#note('exec interrupted');
            throw err;
          });
          if (this.clock.monotonic() - startMs > 30_000) this.#note('exec ended');
          const exitCode = this.execFails ? 1 : 0;
          return { exitCode, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
        },
      },
      hooks: {
        http: async ({ host, path, port }) => this.#note(`get ${host}:${port}${path}`),
        running: new InFlight(),
        metrics: { fellBackToHttp: () => undefined, sleepCutShort: () => undefined },
      },
      report: {
        events: {
          ...noEvents,
          pod: (_pod, { type, reason, message }, path) => {
            this.events.push(`${type} ${reason} ${path}: ${message}`);
          },
        },
        log: silentLogger,
      },
      clock: this.clock,
    };
  }

  /** Runs the stop to its end. */
  async stop(pod: Pod | undefined, ids: readonly string[], over: Partial<StopOptions> = {}): Promise<void> {
    const containers = ids.map((id) => anObservedContainer({ id: asContainerId(id), name: id }));
    const order = new TerminationOrder(this.clock, pod, ids);
    const { signal } = this.abort;
    const work = stopContainers(this.deps, containers, {
      pod,
      graceSeconds: undefined,
      why: 'test',
      podIp: '10.88.0.2',
      order,
      signal,
      ...over,
    });
    await this.clock.until(work, 3_600_000);
  }

  #note(what: string): void {
    this.done.push(`${(this.clock.monotonic() - this.beganMs) / 1_000}s ${what}`);
  }
}

const hooked = (preStop: LifecycleHandler, grace = 30): Pod =>
  aPod({
    terminationGracePeriodSeconds: grace,
    containers: [aContainer({ lifecycle: { preStop }, ports: [{ name: 'web', containerPort: 81 }] })],
  });
const exec = hooked({ exec: { command: ['bye'] } });

test('stops containers in parallel, tolerates a missing one, and fails after all were attempted', async () => {
  const it = new Scene();
  it.stopSeconds = { c: 5, d: 5 };
  await expect(it.stop(undefined, ['stuck', 'gone', 'c', 'd'])).rejects.toThrow('stuck');
  expect(it.done.splice(0)).toEqual(['0s stop stuck 30', '0s stop gone 30', '0s stop c 30', '0s stop d 30']);
  await it.stop(undefined, ['gone', 'c']);
  await stopSandboxes(it.deps, anObservedPod({ sandboxes: [aSandbox()] }), it.abort.signal);
  expect(it.done).toEqual(['5s stop gone 30', '5s stop c 30', '10s stop sandbox sandbox-1']);
});

test('at least two seconds pass between SIGTERM and SIGKILL, whatever the caller requests', async () => {
  const it = new Scene();
  await it.stop(aPod({ terminationGracePeriodSeconds: 0 }), ['c']);
  await it.stop(aPod(), ['c'], { graceSeconds: 1 });
  expect(it.done).toEqual(['0s stop c 2', '0s stop c 2']);
});

test('runs the hook before the signal and subtracts its whole seconds from the grace period', async () => {
  const it = new Scene();
  it.execSeconds = 4.9;
  await it.stop(exec, ['c']);
  expect(it.done).toEqual(['0s exec bye in c', '4.9s stop c 26']);
  expect(it.events).toEqual(['Normal Killing spec.containers{c}: Stopping container c']);
});

test('gives up a hanging hook after the grace period, with two seconds left for SIGTERM', async () => {
  const it = new Scene();
  it.execSeconds = 1e6;
  await it.stop(exec, ['c']);
  expect(it.done).toEqual(['0s exec bye in c', '30s stop c 2', '30s exec interrupted']);
  expect(it.events).toEqual([
    'Normal Killing spec.containers{c}: Stopping container c',
    'Warning FailedPreStopHook spec.containers{c}: PreStopHook failed',
  ]);
});

test('a hook that exceeds the grace period runs on until the container has stopped', async () => {
  const it = new Scene();
  it.stopSeconds = { c: 2 };
  it.execSeconds = 31;
  await it.stop(exec, ['c']);
  expect(it.done).toEqual(['0s exec bye in c', '30s stop c 2', '31s exec ended']);
  expect(it.events).toEqual(['Normal Killing spec.containers{c}: Stopping container c']);
  it.done.length = 0;
  it.execSeconds = 1e6;
  await it.stop(exec, ['c']);
  expect(it.done).toEqual(['32s exec bye in c', '62s stop c 2', '64s exec interrupted']);
});

test('sidecars with hanging hooks are stopped together, also if a timer fires a little early', async () => {
  class EarlyTimers extends FakeClock {
    override monotonic(): number {
      return super.monotonic() * 0.999_99;
    }
  }
  const it = new Scene(new EarlyTimers());
  it.execSeconds = 1e6;
  it.stopSeconds = { a: 2, b: 2 };
  const lifecycle = { preStop: { exec: { command: ['bye'] } } };
  const sidecar = (name: string) => aContainer({ name, restartPolicy: 'Always', lifecycle });
  await it.stop(aPod({ terminationGracePeriodSeconds: 30, initContainers: [sidecar('a'), sidecar('b')] }), [
    'a',
    'b',
  ]);
  const stops = it.done.flatMap((line) =>
    line.includes(' stop ') ? line.replace(/^29\.9+\d*s/, '30s') : [],
  );
  expect(stops.toSorted()).toEqual(['30s stop a 2', '30s stop b 2']);
});

test('interrupts a sleep that exceeds the grace period without a failure', async () => {
  const it = new Scene();
  await it.stop(aPod({ containers: [aContainer({ lifecycle: { preStop: { sleep: { seconds: 90 } } } })] }), [
    'c',
  ]);
  expect(it.done).toEqual(['30s stop c 2']);
  expect(it.events).toEqual(['Normal Killing spec.containers{c}: Stopping container c']);
});

test('reports a failed hook without its output and stops the container', async () => {
  const it = new Scene();
  it.execFails = true;
  await it.stop(exec, ['c']);
  expect(it.done).toEqual(['0s exec bye in c', '0s stop c 30']);
  expect(it.events[1]).toBe('Warning FailedPreStopHook spec.containers{c}: PreStopHook failed');
});

test('runs no hook without a grace period', async () => {
  const it = new Scene();
  await it.stop(hooked({ exec: { command: ['bye'] } }, 0), ['c']);
  expect(it.done).toEqual(['0s stop c 2']);
});

test('runs sleep and HTTP hooks', async () => {
  const it = new Scene();
  await it.stop(hooked({ sleep: { seconds: 7 } }), ['c']);
  await it.stop(hooked({ httpGet: { path: '/bye', port: 'web' } }), ['c']);
  expect(it.done).toEqual(['7s stop c 23', '7s get 10.88.0.2:81/bye', '7s stop c 30']);
});

test('runs the hook recorded on the container if the spec is lost, without events', async () => {
  const it = new Scene();
  const preStop = { exec: { command: ['bye'] } };
  const container = anObservedContainer({ id: asContainerId('c'), preStop });
  const { signal } = it.abort;
  const options = { pod: undefined, graceSeconds: undefined, why: 'test', podIp: undefined, signal };
  await it.clock.until(stopContainers(it.deps, [container], options), 60_000);
  expect([it.done, it.events]).toEqual([['0s exec bye in c', '0s stop c 30'], []]);
});

test('uses the given message for the Killing event', async () => {
  const it = new Scene();
  await it.stop(aPod(), ['c'], { message: 'Container c failed liveness probe, will be restarted' });
  expect(it.events).toEqual([
    'Normal Killing spec.containers{c}: Container c failed liveness probe, will be restarted',
  ]);
});

const side = (name: string): ReturnType<typeof aContainer> => aContainer({ name, restartPolicy: 'Always' });
const sided = aPod({
  initContainers: [side('s1'), aContainer({ name: 'i' }), side('s2')],
  containers: [aContainer({ name: 'a' }), aContainer({ name: 'b' })],
});

test('stops sidecars after the regular containers, the last one first', async () => {
  const it = new Scene();
  it.stopSeconds = { a: 3, b: 5, s2: 2 };
  await it.stop(sided, ['s1', 's2', 'a', 'b']);
  expect(it.done).toEqual(['0s stop a 30', '0s stop b 30', '5s stop s2 25', '7s stop s1 23']);
});

test('sidecars wait only for running containers', async () => {
  const it = new Scene();
  await it.stop(sided, ['s1', 's2']);
  expect(it.done.toSorted()).toEqual(['0s stop s1 30', '0s stop s2 30']);
});

test('a container that ignores SIGTERM leaves the sidecars two seconds', async () => {
  const it = new Scene();
  it.stopSeconds = { a: 31 };
  await it.stop(sided, ['s1', 's2', 'a']);
  expect(it.done).toEqual(['0s stop a 30', '30s stop s1 2', '30s stop s2 2']);
});

test('stops nothing more after an abort', async () => {
  const it = new Scene();
  it.stopSeconds = { a: 20 };
  const work = it.stop(sided, ['s1', 'a']);
  it.clock.setTimer(5_000, () => it.abort.abort(new Error('shorter')));
  await expect(work).rejects.toThrow('shorter');
  expect(it.done).toEqual(['0s stop a 30']);
});
