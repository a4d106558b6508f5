// Static pods that kubelets of earlier releases started under another UID, on the fake clock: they keep running under it.
// The earlier kubelet is this one with the UID in the manifest, which yields the same labels, directories and annotations.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/k8s/types.ts';
import { staticPodHashes } from '../../../src/api/pod/static-pod-hash/compute.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { buildStaticPod } from '../../../src/sources/static-pod.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { startCluster } from '../../simulate/cluster-world.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});
afterEach(async () => await node.stop());

/** A manifest without a UID. */
function manifest(over: PodOver = {}): Pod {
  const { uid: _, ...metadata } = aPod(over).metadata ?? {};
  return { ...aPod(over), metadata };
}

/** The UID of a manifest under a release. */
function uidOf(pod: Pod, release: '1.37' | '1.35' | '1.34' = '1.37', file = 'p.yaml'): string {
  const earlierBy = { '1.37': -1, '1.35': 1, '1.34': 2 }[release];
  const built = buildStaticPod(pod, {
    nodeName: 'n',
    source: 'file',
    origin: `/manifests/${file}`,
    nowMs: 0,
    computeHash: (...args) =>
      earlierBy < 0
        ? staticPodHashes.computeHash(...args)
        : ([...staticPodHashes.computeEarlierHashes(...args)][earlierBy] ?? ''),
  });
  return built.ok ? (built.pod.metadata?.uid ?? '') : '';
}

const withUid = (pod: Pod, uid: string): Pod => ({ ...pod, metadata: { ...pod.metadata, uid } });

/** Runs the manifest under the UID of an earlier release, and ends that kubelet. */
async function runEarlier(pod: Pod, release: '1.35' | '1.34' = '1.34'): Promise<string> {
  const uid = uidOf(pod, release);
  await node.start();
  node.write('p.yaml', withUid(pod, uid));
  await node.clock.advance(5_000);
  expect(node.status(uid)?.phase).toBe('Running');
  await node.kill();
  node.write('p.yaml', pod);
  return uid;
}

const desired = (): readonly string[] => node.stores.desired.all().map(({ uid }) => uid);
const restarts = (uid: string): number | undefined => node.status(uid)?.containerStatuses?.[0]?.restartCount;

describe('a static pod of an earlier release', () => {
  test.each(['1.34', '1.35'] as const)('of %s keeps its UID and its containers', async (release) => {
    const pod = manifest();
    const uid = await runEarlier(pod, release);
    const calls = node.calls().length;
    await node.start();
    await node.clock.advance(90_000);
    expect(desired()).toEqual([uid]);
    expect(node.calls().slice(calls)).toEqual([]);
    expect(node.status(uid)?.containerStatuses?.[0]).toMatchObject({ ready: true, restartCount: 0 });
    expect(node.stores.desired.all()[0]?.pod.metadata?.annotations).toMatchObject({
      'kubernetes.io/config.hash': uid,
    });
    expect(node.logged('Adopted static pod under the UID of an earlier kubelet')).toHaveLength(1);
  });

  test('keeps its UID over every further restart and touch of the manifest', async () => {
    const pod = manifest();
    const uid = await runEarlier(pod);
    const calls = node.calls().length;
    for (const afterMs of [0, 10, 50, 1_000, 3_000]) {
      await node.start();
      await node.clock.advance(afterMs);
      node.write('p.yaml', `${JSON.stringify(pod)}\n`);
      await node.clock.advance(afterMs);
      await node.kill();
    }
    await node.start();
    await node.clock.advance(5_000);
    expect([desired(), node.calls().slice(calls), restarts(uid)]).toEqual([[uid], [], 0]);
  });

  test('is replaced under the current UID when its manifest changes', async () => {
    const uid = await runEarlier(manifest());
    await node.start();
    await node.clock.advance(2_000);
    const edited = manifest({ labels: { edited: 'yes' } });
    node.write('p.yaml', edited);
    await node.clock.advance(60_000);
    expect(desired()).toEqual([uidOf(edited)]);
    expect(node.status(uidOf(edited))?.phase).toBe('Running');
    expect([...node.stores.observed.all().keys()]).toEqual([uidOf(edited)]);
    expect(node.status(uid)).toBeUndefined();
  });

  test('gets the current UID once it is gone', async () => {
    const pod = manifest();
    await runEarlier(pod);
    await node.start();
    await node.clock.advance(2_000);
    node.remove('p.yaml');
    await node.clock.advance(60_000);
    expect(node.stores.observed.all().size).toBe(0);
    node.write('p.yaml', pod);
    await node.clock.advance(5_000);
    expect(desired()).toEqual([uidOf(pod)]);
    expect(node.status(uidOf(pod))?.phase).toBe('Running');
  });

  test('is recognized by its directory while the runtime is unavailable', async () => {
    const pod = manifest();
    const uid = await runEarlier(pod);
    const calls = node.calls().length;
    const away = new KubeletError('unavailable', 'Unavailable', 'connection refused');
    node.cri.faults.fail('listPodSandbox', away, { times: 20 });
    await node.start();
    await node.clock.advance(10_000);
    expect(desired()).toEqual([uid]);
    await node.clock.advance(60_000);
    expect([desired(), node.calls().slice(calls), restarts(uid)]).toEqual([[uid], [], 0]);
  });

  test('is recognized by its directory while the runtime hangs, and delays the sources for seconds only', async () => {
    const pod = manifest();
    const uid = await runEarlier(pod);
    const calls = node.calls().length;
    const stall = node.cri.faults.stall('listPodSandbox', { times: 1_000 });
    await node.start();
    await node.clock.advance(6_000);
    expect(desired()).toEqual([uid]);
    stall.release();
    await node.clock.advance(60_000);
    expect([desired(), node.calls().slice(calls), restarts(uid)]).toEqual([[uid], [], 0]);
  });

  test('is recognized by its sandbox if its directory is lost', async () => {
    const pod = manifest();
    const uid = await runEarlier(pod);
    const calls = node.calls().length;
    node.directories.clear();
    await node.start();
    await node.clock.advance(5_000);
    expect([desired(), node.calls().slice(calls), restarts(uid)]).toEqual([[uid], [], 0]);
  });

  test('continues under its UID if its sandbox has exited, with the next restart count', async () => {
    const pod = manifest();
    const uid = await runEarlier(pod);
    for (const { id } of (await node.cri.listPodSandbox({})).items)
      await node.cri.stopPodSandbox({ podSandboxId: id });
    await node.start();
    await node.clock.advance(30_000);
    expect([desired(), node.status(uid)?.phase, restarts(uid)]).toEqual([[uid], 'Running', 1]);
  });

  test('that has completed does not run again', async () => {
    const pod = manifest({
      restartPolicy: 'Never',
      containers: [aContainer({ command: ['sh', '-c', 'sleep 7'] })],
    });
    const uid = await runEarlier(pod);
    await node.clock.advance(10_000);
    const calls = node.calls().filter((call) => call === 'StartContainer').length;
    await node.start();
    await node.clock.advance(60_000);
    expect([desired(), node.status(uid)?.phase]).toEqual([[uid], 'Succeeded']);
    expect(node.calls().filter((call) => call === 'StartContainer')).toHaveLength(calls);
  });

  test('whose replacement already runs is removed', async () => {
    const pod = manifest();
    const earlier = await runEarlier(pod);
    for (const { id } of (await node.cri.listPodSandbox({})).items)
      await node.cri.stopPodSandbox({ podSandboxId: id });
    // Another kubelet of the current release started it under its UID and left the old sandbox.
    const other = new FakeNode();
    await other.start();
    other.write('p.yaml', pod);
    await other.clock.advance(5_000);
    const [sandbox] = other.cri.calls.filter(({ method }) => method === 'RunPodSandbox');
    await node.cri.runPodSandbox(sandbox?.request as never);
    await other.stop();
    await node.start();
    await node.clock.advance(60_000);
    expect(desired()).toEqual([uidOf(pod)]);
    expect(node.status(uidOf(pod))?.phase).toBe('Running');
    expect(node.stores.observed.get(earlier as never)).toBeUndefined();
  });

  test('of two files with the same pod stays the one of the first file', async () => {
    const pod = manifest();
    const uid = await runEarlier(pod);
    node.write('q.yaml', pod);
    await node.start();
    await node.clock.advance(5_000);
    expect([desired(), restarts(uid)]).toEqual([[uid], 0]);
  });
});

test('the mirror pod of an adopted pod is kept, without any transition', async () => {
  const world = await startCluster();
  node = world.node;
  const pod = manifest();
  const uid = uidOf(pod, '1.34');
  node.write('p.yaml', withUid(pod, uid));
  await node.clock.advance(10_000);
  const before = world.pod('p-n');
  expect(before?.metadata?.annotations?.['kubernetes.io/config.mirror']).toBe(uid);
  await node.kill();
  node.write('p.yaml', pod);
  await node.start();
  await node.clock.advance(90_000);
  expect(desired()).toEqual([uid]);
  expect(world.pod('p-n')).toEqual(before);
});
