import { expect, onTestFinished, test } from 'vitest';
import { strategicMergePatch } from '../../../test/api-server/objects/patches.ts';
import { anObservedPod, aPod } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import { Channel } from '../../base/channel.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { StatusPusher } from './status-pusher.ts';

const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 0,
  waiting: {},
  explain: '',
  explainSinceMs: 0,
};
const ended: PodLifecycle = { state: 'terminated', startedAtMs: 0, atMs: 0, cleaned: true };
const unavailable = new KubeletError('unavailable', 'ConnectionRefused', 'connection refused');

function ready(isReady: boolean): PodStatus {
  return {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  };
}

async function world(count = 1) {
  const clock = new FakeClock();
  const uids = Array.from({ length: count }, (_, i) => asPodUid(`u${i}`));
  const state = {
    objects: new Map<string, Pod>(uids.map((uid) => [uid, aPod({ name: uid, uid })])),
    statuses: new Map<string, PodStatus>(),
    lifecycles: new Map<string, PodLifecycle>(uids.map((uid) => [uid, syncing])),
    observed: new Map<string, ObservedPod>(),
    calls: [] as string[],
    patches: [] as object[],
    waitedSeconds: [] as number[],
    fault: undefined as KubeletError | undefined,
    version: 10,
    latencyMs: 0,
    /** Modifies a status before the server stores it. */
    alter: (status: PodStatus): PodStatus => status,
  };
  const call = async <T>(name: string, pod: Pod, work: (stored: Pod) => T): Promise<T> => {
    state.calls.push(`${name} ${pod.metadata?.name}`);
    if (state.latencyMs > 0) await clock.sleep(state.latencyMs);
    if (state.fault !== undefined) throw state.fault;
    const stored = [...state.objects.values()].find((each) => each.metadata?.name === pod.metadata?.name);
    if (stored === undefined) throw new KubeletError('not-found', 'NotFound', 'no such pod');
    return work(stored);
  };
  const pusher = new StatusPusher({
    stores: {
      statuses: { get: (uid) => state.statuses.get(uid), changed: new Channel() },
      lifecycles: { get: (uid) => state.lifecycles.get(uid), changed: new Channel() },
      observed: { get: (uid) => state.observed.get(uid) },
      desired: { get: () => undefined, all: () => [] },
      apiPods: {
        get: (uid) => state.objects.get(uid),
        mirror: () => undefined,
        changed: new Channel(),
        mirrorChanged: new Channel(),
      },
    },
    api: {
      get: (pod) => call('get', pod, (stored) => stored),
      patchStatus: (pod, patch) =>
        call('patch', pod, (stored) => {
          state.patches.push(patch);
          const sent = (patch as { metadata: { uid: string } }).metadata.uid;
          if (sent !== stored.metadata?.uid) throw new KubeletError('conflict', 'Conflict', 'another UID');
          const merged = strategicMergePatch('Pod', { ...stored }, patch) as unknown as Pod;
          const updated: Pod = {
            ...stored,
            metadata: { ...stored.metadata, resourceVersion: String(++state.version) },
            status: state.alter(merged.status ?? {}),
          };
          state.objects.set(stored.metadata?.uid ?? '', updated);
          return updated;
        }),
      delete: (pod) => call('delete', pod, () => undefined),
    },
    observe: (seconds) => void state.waitedSeconds.push(seconds),
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  await pusher.start(stop.signal);
  const setStatus = (uid: string, status: PodStatus): void => {
    state.statuses.set(uid, status);
    pusher.poke(asPodUid(uid));
  };
  return { clock, pusher, setStatus, state, poke: (uid = 'u0') => pusher.poke(asPodUid(uid)) };
}

test('sends a status once, with the UID it is for', async () => {
  const { clock, poke, setStatus, state } = await world();
  setStatus('u0', ready(true));
  await clock.settle();
  poke();
  await clock.settle();
  expect(state.calls).toEqual(['patch u0']);
  expect(state.patches).toEqual([{ metadata: { uid: 'u0' }, status: ready(true) }]);
});

test('sends only the differences and keeps foreign conditions', async () => {
  const { clock, setStatus, state } = await world();
  const pod = aPod({ name: 'u0', uid: 'u0' });
  const foreign = { type: 'example.com/gate', status: 'True' };
  const had = { ...ready(false), conditions: [foreign, ...(ready(false).conditions ?? [])] };
  state.objects.set('u0', { ...pod, status: had });
  setStatus('u0', ready(true));
  await clock.settle();
  expect(state.patches).toEqual([
    {
      metadata: { uid: 'u0' },
      status: {
        '$setElementOrder/conditions': [{ type: 'example.com/gate' }, { type: 'Ready' }],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    },
  ]);
});

test('sends only the latest status per pod after the API server was unreachable', async () => {
  const { clock, setStatus, state } = await world();
  state.fault = unavailable;
  for (const isReady of [true, false, true, false, true]) {
    setStatus('u0', ready(isReady));
    await clock.advance(60_000);
  }
  expect(state.calls.length).toBeLessThan(60);
  state.fault = undefined;
  await clock.advance(15_000);
  expect(state.patches).toHaveLength(1);
  expect(state.objects.get('u0')?.status).toMatchObject(ready(true));
  // Counted from the first failed attempt.
  expect(state.waitedSeconds).toEqual([expect.toSatisfy((seconds: number) => seconds >= 300)]);
});

test('sends readiness changes first', async () => {
  const { clock, setStatus, state } = await world(40);
  state.latencyMs = 100;
  for (let i = 0; i < 39; i++) setStatus(`u${i}`, { phase: 'Pending' });
  setStatus('u39', ready(true));
  await clock.advance(150);
  const order = state.calls.indexOf('patch u39');
  expect(order).toBe(10);
  await clock.advance(1_000);
  expect(new Set(state.calls).size).toBe(40);
});

test('gets the pod after a conflict before it retries', async () => {
  const { clock, setStatus, state } = await world();
  state.fault = new KubeletError('conflict', 'Conflict', 'changed');
  setStatus('u0', ready(true));
  await clock.settle();
  state.fault = undefined;
  await clock.advance(1_000);
  expect(state.calls).toEqual(['patch u0', 'get u0', 'patch u0']);
});

test('sends no status to a later pod of the same name', async () => {
  const { clock, setStatus, state } = await world();
  const watched = state.objects.get('u0') ?? {};
  state.objects.set('later', { ...watched, metadata: { ...watched.metadata, uid: 'later' } });
  state.objects.delete('u0');
  setStatus('u0', ready(true));
  await clock.advance(30_000);
  expect(state.patches).toEqual([]);
});

test('does not flood a server that modifies what it is sent', async () => {
  const { clock, poke, setStatus, state } = await world();
  state.alter = ({ phase: _dropped, ...rest }) => rest;
  setStatus('u0', ready(true));
  for (let i = 0; i < 100; i++) {
    await clock.advance(300);
    poke();
  }
  expect(state.calls.length).toBeLessThanOrEqual(4);
  // At most every ten minutes in the end, and at once when the status changes.
  await clock.advance(6 * 3_600_000);
  const calls = state.calls.length;
  expect(calls).toBeLessThanOrEqual(4 + 5 + 36);
  setStatus('u0', ready(false));
  await clock.advance(100);
  expect(state.calls).toHaveLength(calls + 1);
});

function deleted(pod: Pod): Pod {
  return {
    ...pod,
    metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Running' },
  };
}

test('deletes the object although the server drops a field of the final status', async () => {
  const { clock, poke, setStatus, state } = await world();
  state.alter = ({ resources: _dropped, ...rest }) => rest;
  state.objects.set('u0', deleted(aPod({ name: 'u0', uid: 'u0' })));
  state.lifecycles.set('u0', ended);
  setStatus('u0', { phase: 'Succeeded', resources: { requests: { cpu: '1' } } });
  await clock.settle();
  poke();
  await clock.settle();
  expect(state.calls.filter((call) => call.startsWith('delete'))).toEqual(['delete u0']);
  expect(state.calls.length).toBeLessThanOrEqual(3);
});

test('deletes the object after its final status, once nothing is left on the node', async () => {
  const { clock, poke, setStatus, state } = await world();
  state.objects.set('u0', deleted(aPod({ name: 'u0', uid: 'u0' })));
  state.lifecycles.set('u0', {
    state: 'terminating',
    startedAtMs: 0,
    graceSeconds: 1,
    sinceMs: 0,
    why: '',
    explain: '',
  });
  state.observed.set('u0', anObservedPod());
  setStatus('u0', { phase: 'Failed' });
  await clock.settle();
  expect(state.objects.get('u0')?.status?.phase).toBe('Running');
  state.lifecycles.set('u0', { ...ended, cleaned: false });
  state.observed.delete('u0');
  poke();
  await clock.settle();
  expect(state.calls).not.toContain('delete u0');
  expect(state.objects.get('u0')?.status?.phase).toBe('Failed');
  state.lifecycles.set('u0', ended);
  poke();
  await clock.settle();
  expect(state.calls.at(-1)).toBe('delete u0');
});

test('deletes a pod with a finalizer only once', async () => {
  const { clock, poke, setStatus, state } = await world();
  state.objects.set('u0', deleted(aPod({ name: 'u0', uid: 'u0' })));
  state.lifecycles.set('u0', ended);
  setStatus('u0', { phase: 'Succeeded' });
  await clock.advance(60_000);
  poke();
  await clock.advance(60_000);
  expect(state.calls).toEqual(['patch u0', 'delete u0']);
});

test('retries a failed deletion', async () => {
  const { clock, setStatus, state } = await world();
  const object = deleted(aPod({ name: 'u0', uid: 'u0' }));
  state.objects.set('u0', { ...object, status: { phase: 'Succeeded' } });
  state.lifecycles.set('u0', ended);
  state.fault = unavailable;
  setStatus('u0', { phase: 'Succeeded' });
  await clock.advance(5_000);
  state.fault = undefined;
  const before = state.calls.length;
  await clock.advance(15_000);
  expect(state.calls.slice(before)).toEqual(['delete u0']);
});

test('deletes a rejected pod, but never a mirror pod', async () => {
  const { clock, setStatus, state } = await world(2);
  const rejected: PodLifecycle = { state: 'rejected', startedAtMs: 0, reason: 'OutOfcpu', message: 'm' };
  state.objects.set('u0', deleted(aPod({ name: 'u0', uid: 'u0' })));
  state.lifecycles.set('u0', rejected);
  const annotations = { 'kubernetes.io/config.mirror': 'h' };
  state.objects.set('u1', deleted(aPod({ name: 'u1', uid: 'u1', annotations })));
  state.lifecycles.set('u1', ended);
  setStatus('u0', { phase: 'Failed', reason: 'OutOfcpu' });
  setStatus('u1', { phase: 'Failed' });
  await clock.settle();
  expect(state.calls.toSorted()).toEqual(['delete u0', 'patch u0', 'patch u1']);
});

test('patches the status of a static pod into its mirror pod, by the mirror pod’s UID', async () => {
  const { clock, setStatus, state } = await world();
  state.objects.set('u0', aPod({ name: 'u0', uid: 'mirror-uid' }));
  setStatus('u0', ready(true));
  await clock.settle();
  expect(state.patches[0]).toMatchObject({ metadata: { uid: 'mirror-uid' } });
});
