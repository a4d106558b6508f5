// The service without a socket: handlers over stores, on the fake clock.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { eventLine, readPod } from '../../test/clients/pods-client.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodsDefinition } from '../api/kubelet/generated/pods/v1alpha1/api.ts';
import { ListPodsResponse } from '../api/kubelet/generated/pods/v1alpha1/api.ts';
import { type EncodedMessage, RpcFailure, type RpcHandlers } from '../api/kubelet/rpc-service.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { Metrics } from '../base/metrics.ts';
import { PodsApi } from './pods-api.ts';
import { PodsApiMetrics } from './pods-api-metrics.ts';

class Values<T> {
  readonly changed = new Channel<PodUid>();
  readonly values = new Map<PodUid, T>();
  reads = 0;

  get(uid: PodUid): T | undefined {
    this.reads += 1;
    return this.values.get(uid);
  }

  set(uid: string, value: T | undefined): void {
    if (value === undefined) this.values.delete(asPodUid(uid));
    else this.values.set(asPodUid(uid), value);
    this.changed.push(asPodUid(uid));
  }
}

class Desired extends Values<{ readonly uid: PodUid; readonly pod: Pod }> {
  ready = true;
  sourcesReady = (): boolean => this.ready;
  all = () => [...this.values.values()];
  put(...pods: readonly Pod[]): void {
    for (const pod of pods) {
      const uid = pod.metadata?.uid ?? '';
      this.set(uid, { uid: asPodUid(uid), pod });
    }
  }
}

type Handlers = RpcHandlers<typeof PodsDefinition>;

describe('the Pods API', () => {
  let clock: FakeClock;
  let registry: Metrics;
  let desired: Desired;
  let statuses: Values<PodStatus>;
  let lifecycles: Values<PodLifecycle>;
  let handlers: Handlers;
  let pauses: number;
  let stop: () => Promise<void>;
  /** How far each pause, and each pod that is read, moves the monotonic clock. */
  let stepMs: number;

  beforeEach(async () => {
    clock = new FakeClock();
    registry = new Metrics();
    desired = new Desired();
    statuses = new Values();
    lifecycles = new Values();
    pauses = 0;
    stepMs = 0;
    let elapsedMs = 0;
    const abort = new AbortController();
    const api = new PodsApi({
      stores: { desired, statuses, lifecycles },
      rootDir: '/root-dir',
      listen: async ({ path, services }) => {
        expect(path).toBe('/root-dir/pods-api/pods-api.sock');
        handlers = services[0]?.handlers as unknown as Handlers;
        return { close: async () => undefined };
      },
      pause: async () => {
        pauses += 1;
      },
      metrics: new PodsApiMetrics(registry),
      clock: {
        now: () => clock.now(),
        monotonic: () => {
          elapsedMs += stepMs;
          return clock.monotonic() + elapsedMs;
        },
        setTimer: (ms, fn) => clock.setTimer(ms, fn),
        sleep: (ms, signal) => clock.sleep(ms, signal),
      },
      log: silentLogger,
    });
    const { stopped } = await startComponent(api, abort.signal);
    stop = async () => {
      abort.abort();
      await stopped;
    };
  });
  afterEach(() => stop());

  function bytesOf(message: unknown): Uint8Array {
    return Buffer.concat((message as EncodedMessage).pieces);
  }

  const callOf = (signal = new AbortController().signal) => ({ signal });

  async function list(): Promise<readonly string[]> {
    const { pods } = ListPodsResponse.decode(bytesOf(await handlers.listPods({}, callOf())));
    return pods.map(readPod).map(({ name, phase, ready }) => [name, phase, ready].join(' ').trim());
  }

  const get = (podUID: string) => handlers.getPod({ podUID }, callOf());

  async function failureOf(work: Promise<unknown>): Promise<string> {
    const err = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return err instanceof RpcFailure ? `${err.code}: ${err.message}` : String(err);
  }

  /** A client that reads only as many events as the test requests. */
  function watch() {
    const abort = new AbortController();
    const events = handlers.watchPods({}, callOf(abort.signal))[Symbol.asyncIterator]();
    const read = async (count: number): Promise<readonly string[]> => {
      const lines: string[] = [];
      for (let at = 0; at < count; at++) lines.push(eventLine(bytesOf((await events.next()).value)));
      return lines;
    };
    const end = async (): Promise<void> => {
      abort.abort(new RpcFailure('CANCELLED', 'context canceled'));
      await events.return?.();
    };
    return { events, read, end };
  }

  const counted = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith('kubelet_pod_'));

  describe('list and get', () => {
    test('show every pod by UID with the status of this kubelet', async () => {
      desired.put(aPod({ name: 'b' }), aPod({ name: 'a' }));
      statuses.set('uid-a', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
      expect(await list()).toEqual(['a Running True', 'b Pending']);
      const one = bytesOf(await get('uid-a'));
      expect(readPod(ListPodsResponse.decode(one).pods[0] ?? one)).toMatchObject({
        name: 'a',
        namespace: 'default',
        uid: 'uid-a',
        containers: 1,
        phase: 'Running',
      });
    });

    test('fail until every source has reported, for unknown pods, and above the rate limit', async () => {
      desired.ready = false;
      expect(await failureOf(handlers.listPods({}, callOf()))).toBe(
        'FAILED_PRECONDITION: Kubelet is initializing',
      );
      expect(await failureOf(get('x'))).toBe('FAILED_PRECONDITION: Kubelet is initializing');
      expect(await failureOf(watch().events.next())).toBe('FAILED_PRECONDITION: Kubelet is initializing');
      desired.ready = true;
      expect(await failureOf(get('x'))).toBe('NOT_FOUND: pod with UID x not found');
      for (let at = 0; at < 7; at++) await list();
      expect(await failureOf(handlers.listPods({}, callOf()))).toBe(
        'RESOURCE_EXHAUSTED: rejected by rate limit',
      );
      await clock.advance(10);
      expect(await list()).toEqual([]);
      const of = (code: string) => `{server_api_version="v1alpha1",status_code="${code}"}`;
      expect(counted()).toEqual([
        `kubelet_pod_requests_get_total${of('FailedPrecondition')} 1`,
        `kubelet_pod_requests_get_total${of('NotFound')} 1`,
        `kubelet_pod_requests_list_total${of('FailedPrecondition')} 1`,
        `kubelet_pod_requests_list_total${of('OK')} 8`,
        `kubelet_pod_requests_total${of('FailedPrecondition')} 3`,
        `kubelet_pod_requests_total${of('NotFound')} 1`,
        `kubelet_pod_requests_total${of('OK')} 8`,
        `kubelet_pod_requests_watch_total${of('FailedPrecondition')} 1`,
        'kubelet_pod_watch_events_dropped_total 0',
      ]);
    });

    test('yield to other work while they encode many pods', async () => {
      desired.put(...Array.from({ length: 50 }, (_, at) => aPod({ name: `p${at}` })));
      stepMs = 2;
      await list();
      expect(pauses).toBeGreaterThan(10);
    });

    test('stop encoding when the client has cancelled', async () => {
      desired.put(aPod());
      const failure = new RpcFailure('CANCELLED', 'context canceled');
      expect(await failureOf(handlers.listPods({}, callOf(AbortSignal.abort(failure))))).toBe(
        'CANCELLED: context canceled',
      );
    });

    test('report a pod that cannot be encoded as INTERNAL', async () => {
      desired.put(aPod({ containers: [{ name: 'c', resources: { limits: { cpu: 'much' } } }] }));
      expect(await failureOf(get('uid-p'))).toMatch(/^INTERNAL: failed to marshal pod: /);
    });
  });

  describe('watch', () => {
    test('begins with every pod, then follows a pod from its assignment to its end', async () => {
      desired.put(aPod({ name: 'b' }), aPod({ name: 'a' }));
      const { end, read } = watch();
      expect(await read(3)).toEqual(['ADDED a Pending', 'ADDED b Pending', 'INITIAL_SYNC_COMPLETE']);
      desired.put(aPod({ name: 'c' }));
      expect(await read(1)).toEqual(['ADDED c Pending']);
      statuses.set('uid-c', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
      expect(await read(1)).toEqual(['MODIFIED c Running Ready=True']);
      lifecycles.set('uid-c', { state: 'terminated', startedAtMs: 0, atMs: 1, cleaned: true });
      expect(await read(1)).toEqual(['DELETED c']);
      desired.set('uid-c', undefined);
      lifecycles.set('uid-c', undefined);
      desired.put(aPod({ name: 'd' }));
      expect(await read(1)).toEqual(['ADDED d Pending']);
      await end();
      const of = '{server_api_version="v1alpha1",status_code="Canceled"}';
      expect(counted()).toContain(`kubelet_pod_requests_watch_total${of} 1`);
    });

    test('reports a pod that had ended when the client connected as deleted once it is removed', async () => {
      desired.put(aPod());
      lifecycles.set('uid-p', { state: 'terminated', startedAtMs: 0, atMs: 1, cleaned: true });
      const { end, read } = watch();
      expect(await read(2)).toEqual(['ADDED p Pending', 'INITIAL_SYNC_COMPLETE']);
      desired.set('uid-p', undefined);
      expect(await read(1)).toEqual(['DELETED p']);
      await end();
    });

    test('sends a pod of the initial list as it is at that moment, and one that was removed not at all', async () => {
      desired.put(aPod({ name: 'a' }), aPod({ name: 'b' }), aPod({ name: 'c' }));
      const { end, read } = watch();
      expect(await read(1)).toEqual(['ADDED a Pending']);
      statuses.set('uid-b', { phase: 'Running' });
      desired.set('uid-c', undefined);
      statuses.set('uid-a', { phase: 'Failed' });
      desired.put(aPod({ name: 'd' }));
      await clock.settle();
      expect(await read(4)).toEqual([
        'ADDED b Running',
        'INITIAL_SYNC_COMPLETE',
        'MODIFIED a Failed',
        'ADDED d Pending',
      ]);
      await end();
    });

    test('announces several changes at once as one event with the last state', async () => {
      desired.put(aPod());
      const { end, read } = watch();
      await read(2);
      for (const phase of ['Running', 'Failed', 'Succeeded']) statuses.set('uid-p', { phase });
      expect(await read(1)).toEqual(['MODIFIED p Succeeded']);
      await end();
    });

    test('encodes a pod once for all watchers', async () => {
      desired.put(aPod());
      const watchers = [watch(), watch(), watch()];
      for (const { read } of watchers) await read(2);
      statuses.set('uid-p', { phase: 'Running' });
      const pieces = [];
      for (const { events } of watchers)
        pieces.push(((await events.next()).value as EncodedMessage).pieces[1]);
      expect(new Set(pieces).size).toBe(1);
      for (const { end } of watchers) await end();
    });

    test('drops a watcher that is more than 100 events behind; others are not affected', async () => {
      desired.put(aPod());
      const slow = watch();
      const fast = watch();
      await slow.read(2);
      await fast.read(2);
      for (let at = 0; at < 100; at++) {
        statuses.set('uid-p', { phase: 'Running', message: String(at) });
        expect(await fast.read(1)).toEqual(['MODIFIED p Running']);
      }
      statuses.set('uid-p', { phase: 'Running' });
      await clock.advance(500);
      expect(await fast.read(1)).toEqual(['MODIFIED p Running']);
      expect(await failureOf(slow.events.next())).toBe('RESOURCE_EXHAUSTED: watch client channel closed');
      statuses.set('uid-p', { phase: 'Failed' });
      expect(await fast.read(1)).toEqual(['MODIFIED p Failed']);
      expect(counted()).toContain('kubelet_pod_watch_events_dropped_total 1');
      expect(counted()).toContain(
        'kubelet_pod_requests_watch_total{server_api_version="v1alpha1",status_code="ResourceExhausted"} 1',
      );
      await fast.end();
    });

    test('keeps a watcher that reads during a burst of more than 100 changes', async () => {
      desired.put(...Array.from({ length: 300 }, (_, at) => aPod({ name: `p${at}` })));
      const { end, read } = watch();
      await read(301);
      for (const uid of desired.values.keys()) statuses.set(uid, { phase: 'Running' });
      await clock.settle();
      expect((await read(300)).every((line) => line.startsWith('MODIFIED'))).toBe(true);
      expect(clock.pendingTimers()).toBe(0);
      await end();
    });

    test('drops a watcher that stays behind during a burst, and does not wait for it again', async () => {
      desired.put(...Array.from({ length: 300 }, (_, at) => aPod({ name: `p${at}` })));
      const { events, read } = watch();
      await read(301);
      for (const uid of desired.values.keys()) statuses.set(uid, { phase: 'Running' });
      for (let at = 0; at < 5; at++) {
        await clock.advance(90);
        await read(1);
      }
      await clock.advance(90);
      expect(await failureOf(events.next())).toBe('RESOURCE_EXHAUSTED: watch client channel closed');
      expect(clock.pendingTimers()).toBe(0);
    });

    test('ends with INTERNAL when a pod cannot be encoded', async () => {
      const { read, events } = watch();
      await read(1);
      desired.put(aPod({ containers: [{ name: 'c', resources: { limits: { cpu: 'much' } } }] }));
      expect(await failureOf(events.next())).toMatch(/^INTERNAL: failed to marshal pod: /);
      expect(counted()).toContain('kubelet_pod_watch_events_dropped_total 1');
    });

    test('reads no store and runs no loop without a watcher', async () => {
      const { end, read } = watch();
      await read(1);
      await end();
      const before = desired.reads + statuses.reads + lifecycles.reads;
      desired.put(aPod());
      statuses.set('uid-p', { phase: 'Running' });
      await clock.settle();
      expect(desired.reads + statuses.reads + lifecycles.reads).toBe(before);
    });
  });
});

test('a socket that cannot be created is an error in the log, and the kubelet runs without the API', async () => {
  const errors: string[] = [];
  const abort = new AbortController();
  const api = new PodsApi({
    stores: { desired: new Desired(), statuses: new Values(), lifecycles: new Values() },
    rootDir: '/root-dir',
    listen: () => Promise.reject(new Error('EACCES')),
    pause: async () => undefined,
    metrics: new PodsApiMetrics(new Metrics()),
    clock: new FakeClock(),
    log: { ...silentLogger, error: (message) => void errors.push(message) },
  });
  const { stopped } = await startComponent(api, abort.signal);
  abort.abort();
  await stopped;
  expect(errors).toEqual(['Failed to serve the Pods API']);
});
