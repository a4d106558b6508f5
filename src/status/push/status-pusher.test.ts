import { expect, onTestFinished, test } from 'vitest';
import { strategicMergePatch } from '../../../test/api-server/patches.ts';
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
const away = new KubeletError('unavailable', 'ConnectionRefused', 'away');

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
    /** What the server does to a status before it stores it. */
    alter: (status: PodStatus): PodStatus => status,
  };
  const call = async <T>(name: string, pod: Pod, work: (known: Pod) => T): Promise<T> => {
    state.calls.push(`${name} ${pod.metadata?.name}`);
    if (state.latencyMs > 0) await clock.sleep(state.latencyMs);
    if (state.fault !== undefined) throw state.fault;
    const known = [...state.objects.values()].find((each) => each.metadata?.name === pod.metadata?.name);
    if (known === undefined) throw new KubeletError('not-found', 'NotFound', 'no such pod');
    return work(known);
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
      get: (pod) => call('get', pod, (known) => known),
      patchStatus: (pod, patch) =>
        call('patch', pod, (known) => {
          state.patches.push(patch);
          const sent = (patch as { metadata: { uid: string } }).metadata.uid;
          if (sent !== known.metadata?.uid) throw new KubeletError('conflict', 'Conflict', 'another UID');
          const merged = strategicMergePatch('Pod', { ...known }, patch) as unknown as Pod;
          const stored: Pod = {
            ...known,
            metadata: { ...known.metadata, resourceVersion: String(++state.version) },
            status: state.alter(merged.status ?? {}),
          };
          state.objects.set(known.metadata?.uid ?? '', stored);
          return stored;
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
  const say = (uid: string, status: PodStatus): void => {
    state.statuses.set(uid, status);
    pusher.poke(asPodUid(uid));
  };
  return { clock, pusher, say, state, poke: (uid = 'u0') => pusher.poke(asPodUid(uid)) };
}

test('a status is sent once, with the UID it is meant for', async () => {
  const { clock, poke, say, state } = await world();
  say('u0', ready(true));
  await clock.settle();
  poke();
  await clock.settle();
  expect(state.calls).toEqual(['patch u0']);
  expect(state.patches).toEqual([{ metadata: { uid: 'u0' }, status: ready(true) }]);
});

test('only what differs is sent, and conditions of others stay', async () => {
  const { clock, say, state } = await world();
  const pod = aPod({ name: 'u0', uid: 'u0' });
  const foreign = { type: 'example.com/gate', status: 'True' };
  const had = { ...ready(false), conditions: [foreign, ...(ready(false).conditions ?? [])] };
  state.objects.set('u0', { ...pod, status: had });
  say('u0', ready(true));
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

test('while the server is away statuses pile up to one per pod, and the latest is sent', async () => {
  const { clock, say, state } = await world();
  state.fault = away;
  for (const isReady of [true, false, true, false, true]) {
    say('u0', ready(isReady));
    await clock.advance(60_000);
  }
  expect(state.calls.length).toBeLessThan(60);
  state.fault = undefined;
  await clock.advance(15_000);
  expect(state.patches).toHaveLength(1);
  expect(state.objects.get('u0')?.status).toMatchObject(ready(true));
  // Counted from the first word that could not be said.
  expect(state.waitedSeconds).toEqual([expect.toSatisfy((seconds: number) => seconds >= 300)]);
});

test('who becomes ready goes first', async () => {
  const { clock, say, state } = await world(40);
  state.latencyMs = 100;
  for (let i = 0; i < 39; i++) say(`u${i}`, { phase: 'Pending' });
  say('u39', ready(true));
  await clock.advance(150);
  const order = state.calls.indexOf('patch u39');
  expect(order).toBe(10);
  await clock.advance(1_000);
  expect(new Set(state.calls).size).toBe(40);
});

test('after a conflict the pod is read again before the next try', async () => {
  const { clock, say, state } = await world();
  state.fault = new KubeletError('conflict', 'Conflict', 'changed');
  say('u0', ready(true));
  await clock.settle();
  state.fault = undefined;
  await clock.advance(1_000);
  expect(state.calls).toEqual(['patch u0', 'get u0', 'patch u0']);
});

test('a pod of the same name that came after ours gets none of our statuses', async () => {
  const { clock, say, state } = await world();
  const watched = state.objects.get('u0') ?? {};
  state.objects.set('later', { ...watched, metadata: { ...watched.metadata, uid: 'later' } });
  state.objects.delete('u0');
  say('u0', ready(true));
  await clock.advance(30_000);
  expect(state.patches).toEqual([]);
});

test('a server that alters what it is sent is not flooded', async () => {
  const { clock, poke, say, state } = await world();
  state.alter = ({ phase: _dropped, ...rest }) => rest;
  say('u0', ready(true));
  for (let i = 0; i < 100; i++) {
    await clock.advance(300);
    poke();
  }
  expect(state.calls.length).toBeLessThanOrEqual(6);
});

function deleted(pod: Pod): Pod {
  return {
    ...pod,
    metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Running' },
  };
}

test('the object goes last: after its final status, and when nothing is left on the node', async () => {
  const { clock, poke, say, state } = await world();
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
  say('u0', { phase: 'Failed' });
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

test('a pod with a finalizer is deleted once and then left in place', async () => {
  const { clock, poke, say, state } = await world();
  state.objects.set('u0', deleted(aPod({ name: 'u0', uid: 'u0' })));
  state.lifecycles.set('u0', ended);
  say('u0', { phase: 'Succeeded' });
  await clock.advance(60_000);
  poke();
  await clock.advance(60_000);
  expect(state.calls).toEqual(['patch u0', 'delete u0']);
});

test('a deletion that failed is tried again', async () => {
  const { clock, say, state } = await world();
  const object = deleted(aPod({ name: 'u0', uid: 'u0' }));
  state.objects.set('u0', { ...object, status: { phase: 'Succeeded' } });
  state.lifecycles.set('u0', ended);
  state.fault = away;
  say('u0', { phase: 'Succeeded' });
  await clock.advance(5_000);
  state.fault = undefined;
  const before = state.calls.length;
  await clock.advance(15_000);
  expect(state.calls.slice(before)).toEqual(['delete u0']);
});

test('a rejected pod can be deleted, a mirror pod is never', async () => {
  const { clock, say, state } = await world(2);
  const rejected: PodLifecycle = { state: 'rejected', startedAtMs: 0, reason: 'OutOfcpu', message: 'm' };
  state.objects.set('u0', deleted(aPod({ name: 'u0', uid: 'u0' })));
  state.lifecycles.set('u0', rejected);
  const annotations = { 'kubernetes.io/config.mirror': 'h' };
  state.objects.set('u1', deleted(aPod({ name: 'u1', uid: 'u1', annotations })));
  state.lifecycles.set('u1', ended);
  say('u0', { phase: 'Failed', reason: 'OutOfcpu' });
  say('u1', { phase: 'Failed' });
  await clock.settle();
  expect(state.calls.toSorted()).toEqual(['delete u0', 'patch u0', 'patch u1']);
});

test('a static pod reports on its mirror pod, by the mirror’s UID', async () => {
  const { clock, say, state } = await world();
  state.objects.set('u0', aPod({ name: 'u0', uid: 'mirror-uid' }));
  say('u0', ready(true));
  await clock.settle();
  expect(state.patches[0]).toMatchObject({ metadata: { uid: 'mirror-uid' } });
});
