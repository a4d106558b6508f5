// Eviction under disk pressure with real pods on small file systems: which pods go and why, what stays, and that the space is freed.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { buildImage, ociArchive } from './rig/oci.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { slowness, waitFor } from './rig/wait.ts';
import { type Cluster, isReady } from './support/cluster.ts';
import {
  eventsOf,
  evictionCounts,
  HealthWatch,
  mebibyte,
  type Room,
  room,
  untilDiskPressure,
  untilEvicted,
} from './support/disk-watch.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { shortTimers } from './support/short-timers.ts';
import { useClusterNode } from './support/suite-node.ts';

const nodeFs = { bytes: 256 * mebibyte, inodes: 4_096 };
const imageFsBytes = 160 * mebibyte;
const imageThreshold = 40 * mebibyte;
/** A pass of the eviction manager every 10 s, and the end of the pod. */
const boundMs = 14_000;
const critical = 2_000_001_000;
const prints8000 = `yes ${'x'.repeat(8_000)}`;
const fillsUntilFull = (path: string): string => `dd if=/dev/zero of=${path} bs=1M; ${exitsOnTerm}`;

describeOnRig('eviction under disk pressure', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let health: HealthWatch;
  let freeAtStart = 0;

  useClusterNode(
    (node) => ({ rig, cluster, kubelet } = node),
    (own) => ({
      nodeName: own.nodeName,
      flags: [`--kubeconfig=${own.kubeconfig}`],
      // The age of an image counts from the first run of the collection that sees it.
      env: shortTimers(dirname(own.kubeconfig), 300_000, 1_000),
      config: {
        evictionHard: {
          'nodefs.available': '20Mi',
          'nodefs.inodesFree': '5%',
          'imagefs.available': '40Mi',
        },
        evictionPressureTransitionPeriod: '1s',
        imageGCHighThresholdPercent: 99,
        imageGCLowThresholdPercent: 98,
        imageMinimumGCAge: '1ms',
        containerLogMaxSize: '1Gi',
      },
    }),
    { nodeFs, imageFsBytes },
  );
  beforeAll(async () => {
    health = new HealthWatch(() => kubelet);
    createSteady('steady', { 'ephemeral-storage': '30Mi' });
    createSteady('critical', {}, critical);
    await Promise.all(['steady', 'critical'].map((name) => cluster.untilReady(name)));
    freeAtStart = room(rig.nodeFsDir).freeBytes;
  });
  afterEach(async () => {
    await untilDiskPressure(cluster, 'False');
    for (const { metadata } of cluster.double.objects.list('pods'))
      if (!['steady', 'critical'].includes(metadata?.name ?? ''))
        cluster.double.objects.delete('pods', 'default', metadata?.name ?? '');
    expect(health.faults).toEqual([]);
    expect(health.slowestMs).toBeLessThan(2_000 * slowness);
    for (const name of ['steady', 'critical'])
      if (cluster.pod(name) !== undefined) expect(restartsOf(name)).toBe(0);
    // Nothing of the evicted pods is left but records of a few kilobytes.
    await waitFor(
      () => room(rig.nodeFsDir).freeBytes > freeAtStart - 3 * mebibyte,
      'the space to be free again',
    );
  });
  afterAll(() => health.stop());

  function createSteady(name: string, requests: Readonly<Record<string, string>>, priority?: number): void {
    const spec = { containers: [container('main', exitsOnTerm, { resources: { requests } })] };
    cluster.createPod(manifest(name, { ...spec, ...(priority === undefined ? {} : { priority }) }));
  }
  const restartsOf = (name: string): number | undefined => {
    const { status } = cluster.pod(name) ?? {};
    return isReady(status) ? status?.containerStatuses?.[0]?.restartCount : undefined;
  };
  /** Creates the pod; resolves with the time at which the file system is as full as it gets. */
  async function fills(pod: Pod, path: string, isFull: (now: Room) => boolean): Promise<number> {
    cluster.createPod(pod);
    await waitFor(() => isFull(room(path)), 'the file system to be full', { everyMs: 5 });
    return performance.now();
  }
  async function freed(path: string, fullMs: number, isFree: (now: Room) => boolean): Promise<void> {
    await kubelet.log.waitForLine(/Evicting pod/, { from: logEnd });
    await waitFor(() => isFree(room(path)), 'the space to be free again');
    expect(performance.now() - fullMs).toBeLessThan(boundMs * slowness);
  }
  const ballast = (): string => join(rig.nodeFsDir, 'ballast');
  /** Fills the file system to the last byte. */
  function fillByHand(): void {
    const file = openSync(ballast(), 'w');
    for (const bytes of [mebibyte, 4_096]) {
      const chunk = Buffer.alloc(bytes);
      try {
        for (;;) writeSync(file, chunk);
      } catch (err) {
        expect(String(err)).toContain('ENOSPC');
      }
      fsyncSync(file);
    }
    closeSync(file);
  }
  let logEnd = 0;
  const emptyDir = { volumes: [{ name: 'data', emptyDir: {} }] };
  const mounts = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };

  describe('of the file system of the node', () => {
    test('an emptyDir that fills it costs its own pod, and nothing else', async () => {
      logEnd = kubelet.log.end;
      const pod = manifest('writer', {
        ...emptyDir,
        containers: [container('main', fillsUntilFull('/data/fill'), mounts)],
      });
      const fullMs = await fills(pod, rig.nodeFsDir, ({ freeBytes }) => freeBytes < mebibyte);
      await untilDiskPressure(cluster, 'True');
      await freed(rig.nodeFsDir, fullMs, ({ freeBytes }) => freeBytes > freeAtStart - 3 * mebibyte);
      const { disruption, events, message } = await untilEvicted(cluster, 'writer');
      expect(message).toMatch(
        /^The node was low on resource: ephemeral-storage\. Threshold quantity: 20Mi, available: \w+\. Container main/,
      );
      expect(disruption).toMatchObject({ status: 'True', reason: 'TerminationByKubelet', message });
      expect(events.map((event) => [event.type, event.message])).toEqual([['Warning', message]]);
      expect(cluster.pod('writer')?.status).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
      expect(eventsOf(cluster, 'EvictionThresholdMet').at(-1)?.message).toBe(
        'Attempting to reclaim ephemeral-storage',
      );
      expect(await evictionCounts(kubelet)).toEqual({ 'nodefs.available': 1 });
    });

    test('logs that fill it go with their pod, although its object stays', async () => {
      logEnd = kubelet.log.end;
      const pod = manifest('logger', { containers: [container('main', prints8000)] });
      const fullMs = await fills(pod, rig.nodeFsDir, ({ freeBytes }) => freeBytes < mebibyte);
      await freed(rig.nodeFsDir, fullMs, ({ freeBytes }) => freeBytes > freeAtStart - 3 * mebibyte);
      const { disruption, message } = await untilEvicted(cluster, 'logger');
      expect(message).toMatch(
        /^The node was low on resource: ephemeral-storage\. Threshold quantity: 20Mi, available: \w+\. Container main was using \d+Ki, request is 0, has larger consumption of ephemeral-storage\. $/,
      );
      expect(disruption?.status).toBe('True');
      const logs = (): readonly string[] =>
        readdirSync(kubelet.podLogsDir).filter((name) => name.startsWith('default_logger_'));
      await waitFor(() => logs().length === 0, 'the log directory to go');
      expect(cluster.pod('logger')?.status?.phase).toBe('Failed');
      expect(await evictionCounts(kubelet)).toEqual({ 'nodefs.available': 2 });
    });

    test('files without content that use up the inodes', async () => {
      logEnd = kubelet.log.end;
      const script = `i=0; while (: > /data/$i) 2>/dev/null; do i=$((i+1)); done; ${exitsOnTerm}`;
      const pod = manifest('littering', { ...emptyDir, containers: [container('main', script, mounts)] });
      const before = room(rig.nodeFsDir).freeInodes;
      const fullMs = await fills(pod, rig.nodeFsDir, ({ freeInodes }) => freeInodes === 0);
      await freed(rig.nodeFsDir, fullMs, ({ freeInodes }) => freeInodes > before - 100);
      const { disruption, message } = await untilEvicted(cluster, 'littering');
      expect(message).toMatch(
        /^The node was low on resource: inodes\. Threshold quantity: \d+, available: \d+\. $/,
      );
      expect(disruption?.status).toBe('True');
      expect(await evictionCounts(kubelet)).toMatchObject({ 'nodefs.inodesFree': 1 });
    });
  });

  describe('of the file system of images', () => {
    const imageFs = (): string => rig.containerd.paths.root;

    test('unused images go first, and no pod is evicted', async () => {
      const before = await evictionCounts(kubelet);
      const names = ['rig.local/unused:1', 'rig.local/unused:2'];
      for (const name of names) await importImage(name);
      expect(room(imageFs()).freeBytes).toBeLessThan(imageThreshold);
      await untilDiskPressure(cluster, 'True');
      await untilDiskPressure(cluster, 'False');
      const { images } = await rig.cri.listImages({});
      expect(images.flatMap(({ repoTags }) => repoTags).filter((tag) => names.includes(tag))).toEqual([]);
      expect(room(imageFs()).freeBytes).toBeGreaterThan(imageFsBytes / 2);
      expect(kubelet.log.matching(/Reduced the pressure without evicting pods/)).toHaveLength(1);
      expect(await evictionCounts(kubelet)).toEqual(before);
    });

    test('a writable layer that fills it costs its own pod', async () => {
      logEnd = kubelet.log.end;
      const before = room(imageFs()).freeBytes;
      // Not to the last byte: without any space containerd cannot record that a container has ended.
      const script = `dd if=/dev/zero of=/fill bs=1M count=${Math.floor(before / mebibyte) - 12}; ${exitsOnTerm}`;
      const pod = manifest('layered', { containers: [container('main', script)] });
      const fullMs = await fills(pod, imageFs(), ({ freeBytes }) => freeBytes < 16 * mebibyte);
      await freed(imageFs(), fullMs, ({ freeBytes }) => freeBytes > before - 3 * mebibyte);
      const { disruption, message } = await untilEvicted(cluster, 'layered');
      expect(message).toMatch(
        /^The node was low on resource: ephemeral-storage\. Threshold quantity: 40Mi, available: \w+\. Container main was using \w+, request is 0, has larger consumption of ephemeral-storage\. $/,
      );
      expect(disruption?.status).toBe('True');
      expect(await evictionCounts(kubelet)).toMatchObject({ 'imagefs.available': 1 });
    });

    async function importImage(name: string): Promise<void> {
      const image = await buildImage({ layers: [[{ path: 'data', content: randomBytes(30 * mebibyte) }]] });
      const archive = join(rig.workspace.dir, 'image.tar');
      writeFileSync(archive, await ociArchive({ [name]: image }));
      await rig.ctr('images', 'import', '--snapshotter', rig.containerd.snapshotter, archive);
      rmSync(archive);
    }
  });

  test('storage limits are enforced without pressure on the node', async () => {
    const limit = (storage: string) => ({ resources: { limits: { 'ephemeral-storage': storage } } });
    const writes = (path: string): string => `dd if=/dev/zero of=${path} bs=1M count=20; ${exitsOnTerm}`;
    const prints = `${prints8000} | head -c ${20 * mebibyte}; ${exitsOnTerm}`;
    const startMs = performance.now();
    cluster.createPod(
      manifest('sized', {
        volumes: [{ name: 'data', emptyDir: { sizeLimit: '10Mi' } }],
        containers: [container('main', writes('/data/fill'), mounts)],
      }),
    );
    cluster.createPod(
      manifest('limited', {
        containers: [
          container('main', writes('/fill'), limit('10Mi')),
          container('other', exitsOnTerm, limit('5Mi')),
        ],
      }),
    );
    cluster.createPod(
      manifest('chatty', {
        initContainers: [container('side', prints, { ...limit('10Mi'), restartPolicy: 'Always' })],
        containers: [container('main', exitsOnTerm, limit('50Mi'))],
      }),
    );
    const ends = await Promise.all(['sized', 'limited', 'chatty'].map((name) => untilEvicted(cluster, name)));
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeLessThan(25_000 * slowness);
    expect(ends.map(({ message }) => message)).toEqual([
      'Usage of EmptyDir volume "data" exceeds the limit "10Mi". ',
      'Pod ephemeral local storage usage exceeds the total limit of containers 15Mi. ',
      'Container side exceeded its local ephemeral storage limit "10Mi". ',
    ]);
    for (const { disruption, events, message } of ends) {
      expect(disruption).toBeUndefined();
      expect(events.map((event) => event.message)).toEqual([message]);
    }
    expect(await evictionCounts(kubelet)).toMatchObject({
      'emptydirfs.limit': 1,
      'ephemeralpodfs.limit': 1,
      'ephemeralcontainerfs.limit': 1,
    });
  });

  test('the kubelet itself runs, reports, restarts and recovers on a full disk', async () => {
    cluster.createPod(manifest('flaky', { priority: critical }));
    cluster.createPod(manifest('leaving', { priority: critical }));
    await Promise.all(['flaky', 'leaving'].map((name) => cluster.untilReady(name)));
    // Not critical, so that the ballast below would cost it.
    cluster.double.objects.delete('pods', 'default', 'steady');
    await cluster.untilGone('steady');
    fillByHand();
    await untilDiskPressure(cluster, 'True');
    await kubelet.log.waitForLine(/Failed to find a pod to evict/);

    const id = cluster.pod('flaky')?.status?.containerStatuses?.[0]?.containerID ?? '';
    await rig.cri.stopContainer({ containerId: id.replace('containerd://', ''), timeout: 0n });
    await cluster.untilPod(
      'flaky',
      'to have restarted',
      (status) => status.containerStatuses?.[0]?.restartCount === 1,
    );
    cluster.double.objects.delete('pods', 'default', 'leaving');
    await cluster.untilGone('leaving');
    cluster.createPod(manifest('refused'));
    const refused = await cluster.untilPod('refused', 'to be rejected', ({ phase }) => phase === 'Failed');
    expect(refused.status).toMatchObject({
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [DiskPressure]. ',
    });

    health.paused = true;
    await kubelet.kill9();
    await kubelet.start();
    health.paused = false;
    cluster.createPod(
      manifest('late', {
        priority: critical,
        ...emptyDir,
        containers: [container('main', exitsOnTerm, mounts)],
      }),
    );
    await cluster.untilPod('late', 'to be seen', (status) => (status.conditions ?? []).length > 0);

    rmSync(ballast());
    await untilDiskPressure(cluster, 'False');
    await cluster.untilReady('late');
    expect(restartsOf('critical')).toBe(0);
    // What is written from now on reaches the disk again.
    const from = kubelet.log.end;
    cluster.double.objects.delete('pods', 'default', 'late');
    await cluster.untilGone('late');
    const { text } = await kubelet.secure('/explain/history?pod=default/late');
    expect((JSON.parse(text) as { records: readonly unknown[] }).records).toHaveLength(1);
    expect(kubelet.log.matching(/ENOSPC/, from)).toEqual([]);
  });
});
