import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { ContainerState, Pod, PodStatus } from '../api/k8s/types.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import {
  longestWaitMs,
  type RunOnceEnd,
  type RunOncePod,
  runOnceOutcome,
  runOnceTimeout,
} from './run-once.ts';
import { RunOnce } from './run-once-loop.ts';

type Policy = 'Always' | 'OnFailure' | 'Never';

function podNamed(
  name: string,
  restartPolicy: Policy = 'Always',
  containers: readonly string[] = ['app'],
): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { restartPolicy, containers: containers.map((each) => ({ name: each, image: 'x' })) },
  };
}

const running: ContainerState = { running: {} };
const waiting: ContainerState = { waiting: { reason: 'ContainerCreating' } };
const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });

function withStates(pod: Pod, phase: string, ...states: readonly ContainerState[]): RunOncePod {
  const containerStatuses = states.map((state, i) => ({
    name: pod.spec?.containers[i]?.name ?? '',
    state,
    image: 'x',
    imageID: '',
    ready: false,
    restartCount: 0,
  }));
  return { pod, status: { phase, containerStatuses } };
}

const one = podNamed('a');
const ok: RunOnceEnd = { exit: 0, failed: [] };
const failedA: RunOnceEnd = { exit: 1, failed: ['default/a'] };
const two = ['app', 'side'];

const cases: readonly (readonly [string, readonly RunOncePod[], 'wait' | RunOnceEnd])[] = [
  ['no pods → done', [], ok],
  ['no status yet → wait', [{ pod: one, status: undefined }], 'wait'],
  ['no container yet → wait', [withStates(one, 'Pending')], 'wait'],
  ['waiting → wait', [withStates(one, 'Pending', waiting)], 'wait'],
  ['running → done', [withStates(one, 'Running', running)], ok],
  [
    'one of two running → wait',
    [withStates(podNamed('a', 'Always', two), 'Running', running, waiting)],
    'wait',
  ],
  [
    'one of two without status → wait',
    [withStates(podNamed('a', 'Always', two), 'Running', running)],
    'wait',
  ],
  ['both running → done', [withStates(podNamed('a', 'Always', two), 'Running', running, running)], ok],
  ['Succeeded → done', [withStates(podNamed('a', 'Never'), 'Succeeded', ended(0))], ok],
  ['Failed → 1', [withStates(podNamed('a', 'Never'), 'Failed', ended(3))], failedA],
  [
    'rejected, without a container → 1',
    [{ pod: one, status: { phase: 'Failed', reason: 'NodePorts' } }],
    failedA,
  ],
  [
    'Never, running → it may still fail, wait',
    [withStates(podNamed('a', 'Never'), 'Running', running)],
    'wait',
  ],
  [
    'Never, one succeeded, one runs → wait',
    [withStates(podNamed('a', 'Never', two), 'Running', ended(0), running)],
    'wait',
  ],
  [
    'OnFailure, one succeeded, one runs → wait',
    [withStates(podNamed('a', 'OnFailure', two), 'Running', ended(0), running)],
    'wait',
  ],
  [
    'OnFailure, both succeeded → done',
    [withStates(podNamed('a', 'OnFailure', two), 'Running', ended(0), ended(0))],
    ok,
  ],
  [
    'Never, one failed, one runs → 1',
    [withStates(podNamed('a', 'Never', two), 'Running', ended(2), running)],
    failedA,
  ],
  [
    'OnFailure, failed → it restarts, wait',
    [withStates(podNamed('a', 'OnFailure'), 'Running', ended(2))],
    'wait',
  ],
  ['Always, succeeded → it restarts, wait', [withStates(one, 'Running', ended(0))], 'wait'],
  [
    'one up, one starting → wait',
    [withStates(one, 'Running', running), withStates(podNamed('b'), 'Pending')],
    'wait',
  ],
  [
    'one failed, one starting → wait for it',
    [withStates(one, 'Failed'), withStates(podNamed('b'), 'Pending')],
    'wait',
  ],
  [
    'one failed, one up → 1',
    [withStates(one, 'Failed'), withStates(podNamed('b'), 'Running', running)],
    failedA,
  ],
];

describe('runOnceOutcome', () => {
  for (const [name, pods, want] of cases) {
    test(name, () => {
      expect(runOnceOutcome(pods)).toEqual(want);
    });
  }

  test('at the deadline, pods that still run have started', () => {
    const pods = [
      withStates(podNamed('a', 'Never'), 'Running', running),
      withStates(podNamed('b'), 'Running', running),
    ];
    expect(runOnceTimeout(pods)).toEqual(ok);
  });

  test('at the deadline, pods that are not up have failed', () => {
    const pods = [
      withStates(one, 'Pending', waiting),
      withStates(podNamed('b'), 'Running', running),
      withStates(podNamed('c'), 'Failed'),
    ];
    expect(runOnceTimeout(pods)).toEqual({ exit: 1, failed: ['default/a', 'default/c'] });
  });
});

class Node {
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  pods: readonly Pod[] = [];
  isReady = false;
  readonly statuses = new Map<PodUid, PodStatus>();
  readonly desiredChanged = new Channel<PodUid>();
  readonly ready = new Channel<void>();
  readonly statusChanged = new Channel<PodUid>();
  end: RunOnceEnd | undefined;
  stops = 0;

  async start(): Promise<{ readonly stopped: Promise<void> }> {
    const runOnce = new RunOnce({
      desired: {
        all: () => this.pods.map((pod) => ({ uid: podUid(pod), pod })),
        sourcesReady: () => this.isReady,
        changed: this.desiredChanged,
        ready: this.ready,
      },
      statuses: { get: (uid) => this.statuses.get(uid), changed: this.statusChanged },
      stop: () => {
        this.end = runOnce.end;
        this.stops++;
      },
      clock: this.clock,
      log: silentLogger,
    });
    const started = await startComponent(runOnce, this.stop.signal);
    await this.clock.settle();
    return started;
  }

  want(...pods: readonly Pod[]): void {
    this.pods = pods;
    this.isReady = true;
    for (const pod of pods) this.desiredChanged.push(podUid(pod));
    this.ready.push();
  }

  put({ pod, status }: RunOncePod): void {
    if (status !== undefined) this.statuses.set(podUid(pod), status);
    this.statusChanged.push(podUid(pod));
  }
}

describe('RunOnce', () => {
  test('stops the kubelet once with 0 when the last pod is up, and leaves no timers', async () => {
    const node = new Node();
    await node.start();
    node.want(one, podNamed('b'));
    node.put(withStates(one, 'Running', running));
    await node.clock.settle();
    expect(node.end).toBeUndefined();
    node.put(withStates(podNamed('b'), 'Running', running));
    await node.clock.settle();
    expect(node.end).toEqual(ok);
    expect(node.clock.pendingTimers()).toBe(0);
    node.put(withStates(one, 'Failed'));
    expect(node.stops).toBe(1);
  });

  test('ends at once when the pods are up already, as after a restart', async () => {
    const node = new Node();
    node.want(one);
    node.put(withStates(one, 'Running', running));
    await node.start();
    expect(node.end).toEqual(ok);
  });

  test('ends with 1 when a pod fails', async () => {
    const node = new Node();
    await node.start();
    node.want(one);
    node.put(withStates(one, 'Failed'));
    await node.clock.settle();
    expect(node.end).toEqual(failedA);
  });

  test('ends with 0 when the sources have no pods', async () => {
    const node = new Node();
    await node.start();
    node.want();
    await node.clock.settle();
    expect(node.end).toEqual(ok);
  });

  test('ends with 1 when no source has reported after a second', async () => {
    const node = new Node();
    await node.start();
    await node.clock.advance(999);
    expect(node.end).toBeUndefined();
    await node.clock.advance(1);
    expect(node.end).toEqual({ exit: 1, failed: [] });
  });

  test('ends with 0 at the deadline when a pod that should complete still runs', async () => {
    const node = new Node();
    await node.start();
    const endless = podNamed('a', 'Never');
    node.want(endless);
    node.put(withStates(endless, 'Running', running));
    await node.clock.advance(longestWaitMs - 1);
    expect(node.end).toBeUndefined();
    await node.clock.advance(1);
    expect(node.end).toEqual(ok);
  });

  test('ends with 1 after 17 minutes and 3 seconds when a pod does not start', async () => {
    expect(longestWaitMs).toBe((17 * 60 + 3) * 1_000);
    const node = new Node();
    await node.start();
    node.want(one);
    await node.clock.advance(longestWaitMs - 1);
    expect(node.end).toBeUndefined();
    await node.clock.advance(1);
    expect(node.end).toEqual(failedA);
  });

  test('leaves no timers and stops nothing when it is stopped before the pods are up', async () => {
    const node = new Node();
    const { stopped } = await node.start();
    node.stop.abort();
    await stopped;
    node.want(one);
    node.put(withStates(one, 'Running', running));
    await node.clock.settle();
    expect([node.end, node.clock.pendingTimers()]).toEqual([undefined, 0]);
  });
});
