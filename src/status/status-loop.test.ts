import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { type Logger, silentLogger } from '../base/log/log.ts';
import {
  exited,
  observedPod,
  pod,
  running,
  sandbox,
  startMs,
  staticPod,
  syncing,
  terminated,
  terminating,
} from './fixtures/builders.ts';
import { PodStatuses } from './pod-statuses.ts';
import { defaultStatusGates } from './status-gates.ts';
import { StatusLoop, type StatusNode } from './status-loop.ts';

const uid = asPodUid('uid-1');

function bench() {
  const clock = new FakeClock(startMs);
  const desired = new Map<PodUid, Pod>();
  const observed = new Map<PodUid, ObservedPod>();
  const lifecycles = new Map<PodUid, PodLifecycle>();
  const uninspected = new Set<PodUid>();
  const statuses = new PodStatuses();
  const node: StatusNode = {
    hostIPs: () => ['192.0.2.7'],
    runtimeName: () => 'containerd',
    isInspected: (key) => !uninspected.has(key),
  };
  const announced: PodUid[] = [];
  const phases: (string | undefined)[] = [];
  statuses.changed.subscribe((key) => {
    announced.push(key);
    phases.push(statuses.get(key)?.phase);
  });
  const errors: string[] = [];
  const log: Logger = { ...silentLogger, error: (message) => void errors.push(message) };
  const make = (): StatusLoop =>
    new StatusLoop({
      stores: {
        desired: {
          get: (key) => {
            const found = desired.get(key);
            return found && { pod: found };
          },
          all: () => [],
          changed: new Channel(),
        },
        observed: { get: (key) => observed.get(key), changed: new Channel() },
        lifecycles: { get: (key) => lifecycles.get(key), changed: new Channel() },
        probes: { started: () => undefined, ready: () => undefined, changed: new Channel() },
        resizes: {
          conditions: () => undefined,
          actuated: () => undefined,
          cgroup: () => undefined,
          changed: new Channel(),
        },
        devices: undefined,
        apiPods: { mirror: () => undefined, mirrorChanged: new Channel() },
      },
      node,
      statuses,
      gates: defaultStatusGates,
      clock,
      log,
    });
  return {
    clock,
    node,
    uninspected,
    desired,
    observed,
    lifecycles,
    statuses,
    announced,
    phases,
    errors,
    make,
  };
}

describe('StatusLoop', () => {
  let b = bench();
  let loop: StatusLoop;
  let stop: AbortController;
  let stopped: Promise<void>;

  async function poke(): Promise<void> {
    loop.poke(uid);
    await b.clock.advance(2);
  }

  beforeEach(async () => {
    b = bench();
    loop = b.make();
    stop = new AbortController();
    ({ stopped } = await loop.start(stop.signal));
  });

  afterEach(async () => {
    stop.abort();
    await stopped;
    expect(b.clock.pendingTimers()).toBe(0);
  });

  test('publishes nothing for a pod without a worker', async () => {
    b.desired.set(uid, pod());
    await poke();
    expect(b.statuses.all().size).toBe(0);
  });

  test('publishes nothing before the pod was inspected', async () => {
    b.desired.set(uid, pod());
    b.lifecycles.set(uid, syncing());
    b.uninspected.add(uid);
    await poke();
    expect(b.statuses.all().size).toBe(0);
    b.uninspected.delete(uid);
    b.observed.set(uid, observedPod([running()]));
    await poke();
    expect(b.phases).toEqual(['Running']);
  });

  test('publishes and announces a change once', async () => {
    b.desired.set(uid, pod());
    b.lifecycles.set(uid, syncing());
    await poke();
    expect(b.statuses.get(uid)?.phase).toBe('Pending');
    await b.clock.advance(60_000);
    await poke();
    b.observed.set(uid, observedPod([running()]));
    loop.poke(uid);
    await poke();
    expect(b.statuses.get(uid)?.phase).toBe('Running');
    expect(b.announced).toEqual([uid, uid]);
    expect(b.statuses.version).toBe(2);
    expect(b.phases).toEqual(['Pending', 'Running']);
  });

  test('reports recursive read-only mounts by the node’s capability', async () => {
    const volumeMounts = [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible' }];
    b.desired.set(uid, pod({ containers: [{ name: 'c', volumeMounts }] }));
    b.lifecycles.set(uid, syncing());
    const mode = (): unknown =>
      b.statuses.get(uid)?.containerStatuses?.[0]?.volumeMounts?.[0]?.recursiveReadOnly;
    await poke();
    expect(mode()).toBe('Disabled');
    b.node.supportsRecursiveReadOnly = () => true;
    await poke();
    expect(mode()).toBe('Enabled');
  });

  test('writes the store before announcing the key', async () => {
    b.desired.set(uid, pod());
    b.lifecycles.set(uid, syncing());
    const phasesOnChange: (string | undefined)[] = [];
    b.statuses.changed.subscribe((key) => phasesOnChange.push(b.statuses.get(key)?.phase));
    await poke();
    expect(phasesOnChange).toEqual(['Pending']);
  });

  test('keeps the status of a terminating pod after its source dropped it, then drops it too', async () => {
    b.desired.set(uid, staticPod());
    b.lifecycles.set(uid, syncing());
    b.observed.set(uid, observedPod([running()]));
    await poke();
    b.desired.delete(uid);
    b.lifecycles.set(uid, terminating);
    await poke();
    b.observed.set(uid, observedPod([exited('c', 137)], [sandbox({ ready: false })]));
    b.lifecycles.set(uid, terminated);
    await poke();
    expect(b.statuses.get(uid)?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    b.lifecycles.delete(uid);
    await poke();
    expect(b.statuses.get(uid)).toBeUndefined();
    const { length } = b.announced;
    await poke();
    expect(b.announced).toHaveLength(length);
  });

  test('publishes nothing for an orphan without a spec', async () => {
    b.lifecycles.set(uid, terminating);
    b.observed.set(uid, observedPod([running()]));
    await poke();
    expect(b.statuses.get(uid)).toBeUndefined();
  });

  test('refuses to publish a restart that the policy forbids', async () => {
    b.desired.set(uid, pod({ restartPolicy: 'Never' }));
    b.lifecycles.set(uid, syncing());
    b.observed.set(uid, observedPod([exited()]));
    await poke();
    b.observed.set(uid, observedPod([running()]));
    await poke();
    expect(b.statuses.get(uid)?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
    expect(b.errors).toHaveLength(1);
  });

  test('retries a pod whose status cannot be generated, without delaying others', async () => {
    const other = asPodUid('uid-2');
    const broken = new Proxy(pod(), {
      get: (target, key, receiver) => {
        if (key === 'spec' && b.errors.length === 0) throw new Error('broken');
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    b.desired.set(uid, broken).set(other, pod());
    b.lifecycles.set(uid, syncing()).set(other, syncing());
    loop.poke(uid);
    loop.poke(other);
    await b.clock.advance(2);
    expect([...b.statuses.all().keys()]).toEqual([other]);
    await b.clock.advance(1000);
    expect([...b.statuses.all().keys()]).toEqual([other, uid]);
  });

  test('generates the same status after a restart', async () => {
    b.desired.set(uid, staticPod());
    b.lifecycles.set(uid, syncing());
    b.observed.set(uid, observedPod([running('c', { restartCount: 2 }), exited('c', 1)]));
    await poke();
    const before = b.statuses.get(uid);
    const again = bench();
    again.desired.set(uid, staticPod());
    again.lifecycles.set(uid, { ...syncing(), startedAtMs: startMs + 3_600_000 });
    again.observed.set(uid, b.observed.get(uid) as ObservedPod);
    const second = again.make();
    const abort = new AbortController();
    const { stopped: secondStopped } = await second.start(abort.signal);
    second.poke(uid);
    await again.clock.advance(2);
    const after = again.statuses.get(uid);
    expect(after?.containerStatuses).toEqual(before?.containerStatuses);
    expect(after?.conditions?.map(({ type, status }) => [type, status])).toEqual(
      before?.conditions?.map(({ type, status }) => [type, status]),
    );
    // The oldest sandbox was created a second after the first kubelet started.
    expect(after?.startTime).toBe('2026-03-01T10:00:01Z');
    abort.abort();
    await secondStopped;
  });
});

test('stops if aborted before it starts', async () => {
  const { stopped } = await bench().make().start(AbortSignal.abort());
  await expect(stopped).resolves.toBeUndefined();
});
