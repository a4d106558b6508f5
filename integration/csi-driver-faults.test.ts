// CSI drivers that answer too late, are replaced, cannot unmount or lose devices; secrets that change; and an API
// server that is unreachable: pods wait with a reason, nothing beside their volumes is touched, and everything ends.
import { closeSync, existsSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { waitFor } from './rig/wait.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import type { CsiClaim } from './support/csi-objects.ts';
import { shortTimers } from './support/short-timers.ts';
import { eventually } from './support/suite-driver.ts';

const deadlineMs = 4_000;
const volumeIdOf = (request: unknown): string => (request as { readonly volumeId: string }).volumeId;

describeOnCsiNode('CSI volumes with faults', () => {
  let node: CsiNode;
  let driver: CsiDriver;
  useCsiNode(
    async (started) => {
      node = started;
      driver = await node.driver();
    },
    (cluster) => ({
      // The deadline of a call of a driver is 2 min; so is that of calls of the runtime by default.
      env: shortTimers(dirname(cluster.kubeconfig), 120_000, deadlineMs, 119_000),
      config: { runtimeRequestTimeout: '3m', volumeStatsAggPeriod: '1s' },
    }),
  );
  afterEach(() => {
    for (const each of node.drivers) each.clearFaults();
  });

  const create = (name: string, claim: Partial<CsiClaim> = {}): Pod => {
    node.claim({ name, ...claim });
    return node.createWith(name, [name]);
  };
  const ready = (...names: readonly string[]): Promise<readonly Pod[]> =>
    Promise.all(names.map((name) => node.cluster.untilReady(name)));
  /** Deletes a pod by force, and its claim and volume. */
  const erase = (name: string): void => {
    node.objects.delete('pods', 'default', name, { gracePeriodSeconds: 0 });
    for (const [plural, namespace] of [
      ['persistentvolumeclaims', 'default'],
      ['persistentvolumes', ''],
    ] as const) {
      node.objects.patch(plural, namespace, name, { metadata: { finalizers: null } });
      node.objects.delete(plural, namespace, name);
    }
  };
  const calls = (method: string, volume: string) =>
    driver.calls(method).filter(({ request }) => volumeIdOf(request) === volume);

  test('an answer after the deadline changes nothing: the call is repeated, and the volume is mounted once', async () => {
    const late = { hang: deadlineMs + 2_000, when: 'after', times: 1 } as const;
    driver.setFaults(
      { ...late, method: 'NodeStageVolume', volume: 'late-stage' },
      { ...late, method: 'NodePublishVolume', volume: 'late-publish' },
      { ...late, method: 'NodeUnpublishVolume', volume: 'late-unpublish' },
      { ...late, method: 'NodeUnstageVolume', volume: 'late-unstage' },
    );
    const names = ['late-stage', 'late-publish', 'late-unpublish', 'late-unstage'] as const;
    for (const name of names) create(name);
    await ready('late-unpublish', 'late-unstage');
    for (const name of ['late-unpublish', 'late-unstage']) node.objects.delete('pods', 'default', name);
    await ready('late-stage', 'late-publish');
    for (const [name, step] of [
      ['late-stage', 'MountDevice'],
      ['late-publish', 'SetUp'],
    ] as const) {
      const text = `MountVolume.${step} failed for volume "${name}" : rpc error: code = DeadlineExceeded desc = context deadline exceeded`;
      await eventually(() => node.messages('FailedMount', name)).toEqual([text]);
    }
    expect(driver.mounts().filter(({ count }) => count !== 1)).toEqual([]);
    await node.end('late-stage', 'late-publish');
    await node.cluster.untilGone('late-unpublish');
    await node.untilNoLeftovers();
    expect(calls('NodeUnpublishVolume', 'late-unpublish').map(({ code }) => code)).toEqual([
      'CANCELLED',
      'OK',
    ]);
    expect(calls('NodeUnstageVolume', 'late-unstage').map(({ code }) => code)).toEqual(['CANCELLED', 'OK']);
  });

  test('a driver that is replaced under another socket, or the same one, while it mounts', async () => {
    const own = await node.driver({ name: 'replaced.example.com' });
    create('running', { driver: own.name });
    const [running] = await ready('running');
    const hang = { hang: true, times: 1, method: 'NodeStageVolume' } as const;
    for (const [name, replace] of [
      ['upgraded', () => own.upgrade()],
      ['restarted', async () => [await own.kill9(), await own.start()]],
    ] as const) {
      own.setFaults({ ...hang, volume: name });
      create(name, { driver: own.name });
      await eventually(() =>
        own.calls('NodeStageVolume').map(({ request }) => volumeIdOf(request)),
      ).toContain(name);
      await replace();
      await ready(name);
      own.clearFaults();
    }
    expect(own.mounts().filter(({ count }) => count !== 1)).toEqual([]);
    expect(own.mounts()).toHaveLength(6);
    expect(own.mountCount('running', node.stagingDir('running', own.name) + '/globalmount')).toBe(1);
    expect(node.cluster.pod('running')?.status?.containerStatuses?.[0]?.containerID).toBe(
      running?.status?.containerStatuses?.[0]?.containerID,
    );
    await node.end('running', 'upgraded', 'restarted');
  });

  test('a volume that cannot be unmounted holds the deletion of its pod, with a reason, and no other pod', async () => {
    node.claim({ name: 'shared', accessModes: ['ReadWriteMany'] });
    for (const name of ['busy', 'sharing']) node.createWith(name, ['shared']);
    create('refused');
    const [busy, sharing] = await ready('busy', 'sharing', 'refused');
    if (busy === undefined || sharing === undefined) throw new Error('no pods');
    const file = join(node.volumeDir(busy, 'shared'), 'mount', 'file');
    const descriptor = openSync(file, 'w');
    try {
      driver.setFaults({
        method: 'NodeUnpublishVolume',
        volume: 'refused',
        code: 'FAILED_PRECONDITION',
        message: 'a snapshot is being taken',
      });
      for (const name of ['busy', 'refused']) node.objects.delete('pods', 'default', name);
      await node.untilExplained('busy', 'target is busy');
      await node.untilExplained('refused', 'code = FailedPrecondition desc = a snapshot is being taken');
      for (const volume of ['shared', 'refused'])
        await waitFor(
          () => calls('NodeUnpublishVolume', volume).length >= 3,
          `${volume} to be unpublished again`,
        );
      expect(node.cluster.pod('busy')).toBeDefined();
      await node.exec(sharing, 'echo more > /shared/more');
    } finally {
      closeSync(descriptor);
    }
    driver.clearFaults();
    for (const name of ['busy', 'refused']) await node.cluster.untilGone(name);
    expect(node.cluster.pod('sharing')?.status?.containerStatuses).toEqual(sharing.status?.containerStatuses);
    expect(await node.exec(sharing, 'cat /shared/more')).toBe('more\n');
    await node.end('sharing');
  });

  test('a device that is lost under a mount', async () => {
    create('lost', { handle: 'ext4-lost', csi: { fsType: 'ext4' } });
    create('beside');
    const [lost, beside] = await ready('lost', 'beside');
    if (lost === undefined || beside === undefined) throw new Error('no pods');
    await driver.loseDevice('ext4-lost');
    await expect(
      node.exec(lost, 'dd if=/dev/zero of=/lost/file bs=4096 count=64 conv=fsync'),
    ).rejects.toThrow();
    const { status, text } = await node.kubelet.secure('/stats/summary');
    expect([status, text.includes('"beside"')]).toEqual([200, true]);
    await node.exec(beside, 'echo > /beside/file');
    await node.end('lost', 'beside');
    await node.untilNoLeftovers();
  });

  test('a secret that is missing, and one that changes between two pods of a volume', async () => {
    const [stage, publish] = ['stage-secret', 'publish-secret'].map((name) => ({
      name,
      namespace: 'default',
    }));
    const put = (name: string, value: string): unknown =>
      node.objects.create('secrets', {
        metadata: { name, namespace: 'default' },
        data: { k: Buffer.from(value).toString('base64') },
      });
    node.claim({
      name: 'secrets',
      accessModes: ['ReadWriteMany'],
      csi: { ...(stage && { nodeStageSecretRef: stage }), ...(publish && { nodePublishSecretRef: publish }) },
    });
    node.createWith('secrets-1', ['secrets']);
    await node.untilEvent('FailedMount', 'fetching NodeStageSecretRef default/stage-secret failed: ');
    put('stage-secret', 'first-stage');
    await node.untilEvent('FailedMount', 'fetching NodePublishSecretRef default/publish-secret failed: ');
    expect(calls('NodeStageVolume', 'secrets')).toEqual([]);
    put('publish-secret', 'first-publish');
    await ready('secrets-1');
    for (const name of ['stage-secret', 'publish-secret'])
      node.objects.patch('secrets', 'default', name, {
        data: { k: Buffer.from('second').toString('base64') },
      });
    node.createWith('secrets-2', ['secrets']);
    await ready('secrets-2');
    const sent = (method: string): readonly unknown[] =>
      calls(method, 'secrets').map(({ request }) => (request as { readonly secrets: unknown }).secrets);
    expect(sent('NodeStageVolume')).toEqual([{ k: 'first-stage' }]);
    expect(sent('NodePublishVolume')).toEqual([{ k: 'first-publish' }, { k: 'second' }]);
    await node.end('secrets-1', 'secrets-2');
  });

  test('the API server is unreachable while volumes are mounted, used and unmounted', async () => {
    const { faults } = node.cluster.double;
    create('stays');
    create('deleted');
    create('forced');
    const [stays, , forced] = await ready('stays', 'deleted', 'forced');
    const unread = faults.fail(
      { verb: 'get', resource: 'persistentvolumeclaims', name: 'unread' },
      { code: 503, times: Number.POSITIVE_INFINITY },
    );
    create('unread');
    await node.untilExplained('unread', 'failed to fetch PVC from API server');
    node.objects.delete('pods', 'default', 'deleted');
    await waitFor(
      () => calls('NodeUnpublishVolume', 'deleted').length > 0,
      'the deleted pod to be unmounted',
    );
    faults.goDown();
    unread.remove();
    const attempts = async (): Promise<number> =>
      Number(/(\d+) attempts/.exec(await node.explanation('unread'))?.[1]);
    const before = await attempts();
    // Gone from the API server, with its claim and volume, before the kubelet knows of it.
    erase('forced');
    await eventually(attempts).toBeGreaterThan(before);
    expect(
      driver
        .mounts()
        .filter(({ role, volume }) => role === 'publication' && ['stays', 'forced'].includes(volume)),
    ).toHaveLength(2);
    expect([calls('NodeUnpublishVolume', 'stays'), calls('NodeUnpublishVolume', 'forced')]).toEqual([[], []]);
    faults.comeUp();
    await ready('unread');
    await node.cluster.untilGone('deleted');
    await eventually(() => driver.mounts().filter(({ volume }) => volume === 'forced')).toEqual([]);
    await waitFor(
      () =>
        forced !== undefined && !existsSync(join(node.kubelet.rootDir, 'pods', forced.metadata?.uid ?? '')),
      'the forced pod to be removed',
    );
    expect(node.cluster.pod('stays')?.status?.containerStatuses).toEqual(stays?.status?.containerStatuses);
    await node.end('stays', 'unread');
    await node.untilNoLeftovers();
  });

  test('a pod that is deleted by force, with its claim and volume, is unmounted', async () => {
    const pod = create('erased');
    await ready('erased');
    erase('erased');
    await waitFor(
      () => !existsSync(join(node.kubelet.rootDir, 'pods', pod.metadata?.uid ?? '')),
      'the pod to be removed',
    );
    await node.untilNoLeftovers();
    for (const method of ['NodeUnpublishVolume', 'NodeUnstageVolume'])
      expect(calls(method, 'erased').map(({ code }) => code)).toEqual(['OK']);
  });
});
