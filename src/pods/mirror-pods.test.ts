import { expect, onTestFinished, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { ApiPods } from './api-pods.ts';
import { DesiredPods } from './desired-pods.ts';
import { MirrorPods, mirrorOf } from './mirror-pods.ts';

const node = { name: 'node1', uid: 'node-uid' };
const name = 'web-node1_default';
const syncing: PodLifecycle = {
  state: 'syncing',
  startedAtMs: 0,
  waiting: {},
  explain: '',
  explainSinceMs: 0,
};

function staticPod(hash: string): Pod {
  return aPod({
    name: 'web-node1',
    uid: hash,
    annotations: { 'kubernetes.io/config.hash': hash, 'kubernetes.io/config.source': 'file' },
  });
}

/** A minimal API server: the watch delivers every write. */
async function world(
  options: { listed?: boolean; sourcesReady?: boolean; node?: typeof node | undefined } = { node },
) {
  const clock = new FakeClock();
  const apiPods = new ApiPods();
  const desired = new DesiredPods({ sources: ['file'] });
  const lifecycles = { get: () => (state.busy ? syncing : undefined), changed: new Channel<PodUid>() };
  const ownNode = {
    get: () => (state.node === undefined ? undefined : { metadata: state.node }),
    changed: new Channel<void>(),
  };
  const calls: string[] = [];
  const state = {
    busy: false,
    node: 'node' in options ? options.node : node,
    fault: undefined as KubeletError | undefined,
    uids: 0,
  };
  const mirrors = new MirrorPods({
    stores: {
      desired,
      lifecycles,
      observed: { get: () => undefined, changed: new Channel() },
      apiPods,
      ownNode,
    },
    runtime: { isInspected: () => true, answered: new Channel() },
    nodeName: node.name,
    api: {
      create: async (pod) => {
        calls.push('create');
        if (state.fault !== undefined) throw state.fault;
        apiPods.upsert({ ...pod, metadata: { ...pod.metadata, uid: `m${++state.uids}` } });
      },
      delete: async (pod) => {
        calls.push(`delete ${pod.metadata?.uid}`);
        if (state.fault !== undefined) throw state.fault;
        apiPods.remove(pod);
      },
    },
    clock,
    log: silentLogger,
  });
  if (options.listed !== false) apiPods.replace([]);
  if (options.sourcesReady !== false) desired.set('file', []);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  await startComponent(mirrors, stop.signal);
  const want = async (pod: Pod | undefined): Promise<void> => {
    desired.set('file', pod === undefined ? [] : [pod]);
    await clock.settle();
  };
  /** Something else about the node changes, or the pod with this UID has terminated. */
  const anyChange = (): void => ownNode.changed.push();
  const podTerminated = (uid: string): void => lifecycles.changed.push(asPodUid(uid));
  return { anyChange, apiPods, calls, clock, podTerminated, state, want };
}

test('builds a mirror pod from its static pod, annotated and owned by the node', () => {
  const { metadata, spec } = mirrorOf(staticPod('h1'), node);
  expect(metadata).toEqual({
    name: 'web-node1',
    namespace: 'default',
    annotations: {
      'kubernetes.io/config.hash': 'h1',
      'kubernetes.io/config.mirror': 'h1',
      'kubernetes.io/config.source': 'file',
    },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'node-uid', controller: true }],
  });
  expect(spec).toEqual(staticPod('h1').spec);
});

test('creates a mirror pod once, and again after it was deleted', async () => {
  const { apiPods, calls, clock, want } = await world();
  await want(staticPod('h1'));
  await want(staticPod('h1'));
  expect(calls).toEqual(['create']);
  apiPods.remove(apiPods.mirror(name) ?? {});
  await clock.settle();
  expect(calls).toEqual(['create', 'create']);
  expect(apiPods.mirror(name)?.metadata?.uid).toBe('m2');
});

test('replaces a mirror pod of an earlier manifest, or one that is being deleted', async () => {
  const { apiPods, calls, clock, want } = await world();
  await want(staticPod('h1'));
  await want(staticPod('h2'));
  expect(calls).toEqual(['create', 'delete m1', 'create']);
  const mirror = apiPods.mirror(name) ?? {};
  apiPods.upsert({ ...mirror, metadata: { ...mirror.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
  await clock.settle();
  expect(calls.slice(3)).toEqual(['delete m2', 'create']);
});

test('deletes a mirror pod after its static pod has terminated', async () => {
  const { calls, clock, anyChange, state, want } = await world();
  await want(staticPod('h1'));
  state.busy = true;
  await want(undefined);
  expect(calls).toEqual(['create']);
  state.busy = false;
  anyChange();
  await clock.settle();
  expect(calls).toEqual(['create', 'delete m1']);
});

test('keeps a mirror pod of an earlier manifest until that pod has terminated', async () => {
  const { apiPods, calls, clock, podTerminated, state, want } = await world();
  await want(staticPod('h1'));
  state.busy = true;
  await want(staticPod('h2'));
  await want(staticPod('h3'));
  await clock.advance(60_000);
  expect(calls).toEqual(['create']);
  state.busy = false;
  podTerminated('h1');
  await clock.settle();
  expect(calls).toEqual(['create', 'delete m1', 'create']);
  expect(apiPods.mirror(name)?.metadata?.annotations?.['kubernetes.io/config.mirror']).toBe('h3');
});

test('keeps the backoff of a failed call on unrelated changes, and retries at once if its static pod changes', async () => {
  const { calls, clock, anyChange, podTerminated, state, want } = await world();
  state.fault = new KubeletError('forbidden', 'Forbidden', 'the namespace is being terminated');
  await want(staticPod('h1'));
  for (let passedMs = 0; passedMs < 60_000; passedMs += 100) {
    anyChange();
    podTerminated('h1');
    await clock.advance(100);
  }
  // After 0, 0.5, 1.5, 3.5, 7.5 and 15.5 s, then every 10 s; each up to a fifth later.
  expect(calls.length).toBeGreaterThan(6);
  expect(calls.length).toBeLessThan(12);
  const before = calls.length;
  await want(staticPod('h2'));
  expect(calls.length).toBe(before + 1);
});

test('deletes nothing before every source has reported', async () => {
  const { apiPods, calls, clock } = await world({ node, sourcesReady: false });
  apiPods.upsert(mirrorOf(staticPod('h1'), node));
  await clock.settle();
  expect(calls).toEqual([]);
});

test('creates nothing before the node is registered and the pods are listed', async () => {
  const { apiPods, calls, clock, anyChange, state, want } = await world({
    listed: false,
    node: undefined,
  });
  await want(staticPod('h1'));
  apiPods.replace([]);
  anyChange();
  await clock.settle();
  expect(calls).toEqual([]);
  state.node = node;
  anyChange();
  await clock.settle();
  expect(calls).toEqual(['create']);
});

test('backs off while the API server is unreachable', async () => {
  const { apiPods, calls, clock, state, want } = await world();
  state.fault = new KubeletError('unavailable', 'ConnectionRefused', 'connection refused');
  await want(staticPod('h1'));
  await clock.advance(120_000);
  expect(calls.length).toBeLessThan(25);
  state.fault = undefined;
  await clock.advance(13_000);
  expect(apiPods.mirror(name)).toBeDefined();
});

test('keeps a foreign pod of the same name, and retries', async () => {
  const { calls, clock, state, want } = await world();
  state.fault = new KubeletError('conflict', 'AlreadyExists', 'pods "web-node1" already exists');
  await want(staticPod('h1'));
  await clock.advance(2_000);
  expect(calls.filter((call) => call !== 'create')).toEqual([]);
  expect(calls.length).toBeGreaterThan(1);
});
